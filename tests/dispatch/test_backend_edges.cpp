// What a careless or hostile caller can do to the reference backend.
#include <chrono>
#include <limits>

#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

const char* const kTrivial = "program p workgroup(1) { output o: u32[1]; o[0] = 7; }";

}  // namespace

TEST_CASE("the longest timeout there is does not overflow into the past") {
  for (const std::chrono::nanoseconds timeout :
       {std::chrono::nanoseconds::max(), std::chrono::nanoseconds(24h * 365 * 200)}) {
    DispatchConfig config = on_grid(1);
    config.timeout = timeout;
    CHECK(run_words(kTrivial, {}, config) == Words{7});
  }
}

TEST_CASE("no time at all, or less, is a Timeout") {
  for (const std::chrono::nanoseconds timeout : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
    DispatchConfig config = on_grid(1);
    config.timeout = timeout;
    CHECK(run_error(kTrivial, {}, config).code == ErrorCode::Timeout);
  }
}

TEST_CASE("the timeout holds for large workgroups with costly loop bodies") {
  // A trip of this loop is millions of operations: checking the clock every so many trips is
  // not enough.
  std::string text =
      "program p workgroup(65536) { output o: f32[65536]; let x = f32(local.x);\n"
      "loop i in 0..4294967295 {\n";
  for (int i = 0; i < 40; ++i) text += "x = tanh(sin(x) * 1.5) + exp(x);\n";
  text += "}\no[local.x] = x;\n}\n";
  DispatchConfig config = on_grid(1);
  config.timeout = 100ms;
  CHECK(run_error(text, {}, config).code == ErrorCode::Timeout);
}

TEST_CASE("the timeout holds in straight-line code") {
  std::string text = "program p workgroup(65536) { output o: f32[65536]; let x = f32(local.x);\n";
  for (int i = 0; i < 20000; ++i) text += "x = sin(x);\n";
  text += "o[local.x] = x;\n}\n";
  DispatchConfig config = on_grid(1);
  config.timeout = 100ms;
  const ir::Program program = valid_program(text);
  const auto backend = make_reference_backend();
  DispatchConfig warm = on_grid(0);
  REQUIRE(backend->dispatch(program, {}, warm).has_value());
  const auto result = backend->dispatch(program, {}, config);
  REQUIRE(!result.has_value());
  CHECK(result.error().code == ErrorCode::Timeout);
}

TEST_CASE("programs that differ only in names are not mixed up") {
  const auto backend = make_reference_backend();
  const auto trap = [&](const char* text) {
    const auto result = backend->dispatch(valid_program(text), {});
    REQUIRE(!result.has_value());
    REQUIRE(result.error().context.trap.has_value());
    return result.error().context.program + "/" + result.error().context.trap->tag;
  };
  CHECK(trap("program p workgroup(1) { output o: u32[1]; trap(1, first); }") == "p/first");
  CHECK(trap("program p workgroup(1) { output o: u32[1]; trap(1, second); }") == "p/second");
  CHECK(trap("program q workgroup(1) { output o: u32[1]; trap(1, second); }") == "q/second");
  for (const std::string name : {"f", "g"}) {
    DispatchConfig config;
    config.fixpoint_iterations = 5;
    config.convergence = {Convergence::Kind::Flag, name};
    const auto out =
        backend->dispatch(valid_program("program p workgroup(1) { output " + name +
                                        ": u32[1]; output o: u32[1]; o[0] = o[0] + 1; " +
                                        "if o[0] < 3 { " + name + "[0] = 1; } }"),
                          {}, config);
    REQUIRE(out.has_value());
    CHECK(words_of((*out)[1]) == Words{3});
  }
}

TEST_CASE("more programs than any cache holds, over and over") {
  const auto backend = make_reference_backend();
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 300; ++i) {
      const auto out = backend->dispatch(
          valid_program("program p workgroup(1) { output o: u32[1]; o[0] = " + std::to_string(i) +
                        "; }"),
          {});
      REQUIRE(out.has_value());
      CHECK(words_of((*out)[0]) == Words{i});
    }
  }
}

TEST_CASE("inputs need no alignment") {
  Bytes storage(1 + 64);
  const std::vector<double> values{0.5, -1.25, 3.0, 1e300, -0.0, 7.0, 8.0, 9.0};
  std::memcpy(storage.data() + 1, values.data(), 64);
  const std::vector<ByteSpan> in{ByteSpan(storage).subspan(1)};
  const auto out = make_reference_backend()->dispatch_borrowed(
      valid_program("program p workgroup(8) { readonly x: f64[]; output o: f64[8]; o[local.x] = "
                    "x[7 - local.x]; }"),
      in);
  REQUIRE(out.has_value());
  for (std::size_t i = 0; i < 8; ++i) CHECK(values_of<double>((*out)[0])[i] == values[7 - i]);
}

TEST_CASE("an empty flag buffer is clear") {
  DispatchConfig config = on_grid(1);
  config.fixpoint_iterations = 5;
  config.convergence = {Convergence::Kind::Flag, "f"};
  const auto out = run(
      "program p workgroup(1) { readwrite f: u32[]; output o: u32[1]; f[0] = 1; o[0] = o[0] + 1; }",
      {{}}, config);
  CHECK(words_of(out[1]) == Words{1});
}

TEST_CASE("asynchronous stores count as changes of a fixpoint") {
  DispatchConfig config = on_grid(1);
  config.fixpoint_iterations = 5;
  CHECK(
      run_words("program p workgroup(1) { output o: u32[1]; workgroup t: u32[1]; t[0] = o[0] + 1; "
                "async_store(o[0], t[0], 1, a); async_wait(a); }",
                {}, config) == Words{5});
}

TEST_CASE("collectives count as changes of a fixpoint") {
  DispatchConfig config = on_grid(1);
  config.fixpoint_iterations = 9;
  const auto out =
      run("program p workgroup(1) { output a: u32[1]; output b: u32[1]; output c: u32[1]; "
          "if b[0] < 4 { c[0] = b[0] + 1; } all_gather(b, a); all_gather(a, c); }",
          {}, config);
  CHECK(words_of(out[0]) == Words{4});
  CHECK(words_of(out[1]) == Words{4});
}

TEST_CASE("atomics alone count as changes of a fixpoint") {
  DispatchConfig config = on_grid(1);
  config.fixpoint_iterations = 6;
  CHECK(run_words("program p workgroup(1) { output o: u64[1]; atomic_add(o[0], 4294967296u64); }",
                  {}, config) == Words{0, 6});
}

TEST_CASE("small asynchronous copies without end are refused before they fill the memory") {
  DispatchConfig config = on_grid(1);
  config.timeout = 20s;
  const Error error = run_error(R"(program p workgroup(1) {
    readonly s: u8[]; output o: u8[1]; workgroup t: u8[1];
    loop i in 0..4294967295 { async_load(t[0], s[0], 1, a); }
    async_wait(a); o[0] = t[0];
  })",
                                {Bytes(1)}, config);
  CHECK(error.code == ErrorCode::DeviceOutOfMemory);
}

TEST_CASE("memory that nobody has is asked for in a number that means something") {
  const auto message = [](const char* text, WorkgroupOrder order) {
    ReferenceOptions options;
    options.order = order;
    const auto backend = make_reference_backend(options);
    const auto run = backend->dispatch(valid_program(text), {}, on_grid(65536, 65536, 65535));
    REQUIRE_FALSE(run.has_value());
    CHECK(run.error().code == ErrorCode::DeviceOutOfMemory);
    CHECK(run.error().message.find("18446744073709551615") == std::string::npos);
    return run.error().message;
  };
  const char* const small =
      "program p workgroup(1) { output o: u32[1]; let x = o[0]; gridsync; o[0] = x + 1; }";
  CHECK(message(small, WorkgroupOrder::Forward).find(" bytes, ") != std::string::npos);
  const char* const large =
      "program p workgroup(1) { workgroup w: u32[4096]; output o: u32[1]; w[o[0]] = 1; gridsync;"
      " o[0] = w[1]; }";
  CHECK(message(large, WorkgroupOrder::Forward)
            .starts_with("Keeping every workgroup across a grid barrier needs "));
  const char* const largest =
      "program p workgroup(1) { workgroup w: u32[131072]; output o: u32[1]; w[o[0]] = 1; gridsync;"
      " o[0] = w[1]; }";
  CHECK(message(largest, WorkgroupOrder::Forward).find("2^64 bytes or more") != std::string::npos);
  const char* const plain = "program p workgroup(1) { output o: u32[1]; o[0] = 1; }";
  CHECK(message(plain, WorkgroupOrder::Shuffled).find("needs 1125882726973440 bytes") !=
        std::string::npos);
}

TEST_CASE("an error leaves the backend usable") {
  const auto backend = make_reference_backend();
  const ir::Program bad =
      valid_program("program p workgroup(1) { output o: u32[1]; trap(1, stop); }");
  const ir::Program good = valid_program(kTrivial);
  for (int i = 0; i < 3; ++i) {
    CHECK(!backend->dispatch(bad, {}).has_value());
    const auto out = backend->dispatch(good, {});
    REQUIRE(out.has_value());
    CHECK(words_of((*out)[0]) == Words{7});
  }
}

TEST_CASE("slots that an error left behind are reused all the same") {
  const auto backend = make_reference_backend();
  std::vector<Bytes> slots;
  const ir::Program bad =
      valid_program("program p workgroup(1) { output o: u32[9]; o[3] = 5; trap(1, stop); }");
  CHECK(!backend->dispatch_borrowed_into(bad, {}, slots).has_value());
  REQUIRE(backend->dispatch_borrowed_into(valid_program(kTrivial), {}, slots).has_value());
  REQUIRE(slots.size() == 1);
  CHECK(words_of(slots[0]) == Words{7});
}

TEST_CASE("the largest workgroup runs") {
  const Words out =
      run_words("program p workgroup(65536) { output o: u32[65536]; o[local.x] = local.x; }");
  CHECK(out == counting(65536));
}

TEST_CASE("a fixpoint with an indirect grid reads it again in each iteration") {
  DispatchConfig config;
  config.fixpoint_iterations = 3;
  config.convergence.kind = Convergence::Kind::None;
  const auto out = run(R"(program p workgroup(1) {
    readwrite grid: u32[3]; output n: u32[1];
    indirect_dispatch(grid[0]);
    atomic_add(n[0], 1);
    grid[0] = num_workgroups.x + 1;
  })",
                       {bytes_of(Words{1, 1, 1})}, config);
  CHECK(words_of(out[0]) == Words{4, 1, 1});
  CHECK(words_of(out[1]) == Words{1 + 2 + 3});
}
