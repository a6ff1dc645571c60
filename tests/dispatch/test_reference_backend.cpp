// The backend contract, on the reference backend: forms of dispatch, slots, inputs and errors.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "support/results.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

const char* const kSaxpy = R"(program saxpy workgroup(8) {
  uniform a: u32[1];
  readonly x: u32[];
  readwrite y: u32[];
  output sum: u32[16];
  let i = invocation.x;
  if i < len(y) { y[i] = a[0] * x[i] + y[i]; }
  sum[i] = a[0] + i;
})";

std::vector<Bytes> saxpy_inputs() {
  return {bytes_of(Words{3}), bytes_of(counting(16)), bytes_of(counting(16, 100))};
}

Result<std::vector<Bytes>> dispatch_text(const std::string& text, const std::vector<Bytes>& inputs,
                                         const DispatchConfig& config = {},
                                         ReferenceOptions options = {}) {
  return make_reference_backend(options)->dispatch(valid_program(text), inputs, config);
}

ErrorCode code_of(const std::string& text, const std::vector<Bytes>& inputs,
                  const DispatchConfig& config = {}) {
  const auto result = dispatch_text(text, inputs, config);
  REQUIRE(!result.has_value());
  CHECK(to_string(result.error()).find("Fix: ") != std::string::npos);
  CHECK(!result.error().message.empty());
  CHECK(!result.error().fix.empty());
  return result.error().code;
}

}  // namespace

TEST_CASE("all forms of dispatch give the same bytes") {
  const auto backend = make_reference_backend();
  const ir::Program program = valid_program(kSaxpy);
  const std::vector<Bytes> in = saxpy_inputs();
  const auto spans = spans_of(in);
  const auto owned = backend->dispatch(program, in);
  REQUIRE(owned.has_value());
  const auto borrowed = backend->dispatch_borrowed(program, spans);
  REQUIRE(borrowed.has_value());
  const auto timed = backend->dispatch_borrowed_timed(program, spans);
  REQUIRE(timed.has_value());
  std::vector<Bytes> slots;
  REQUIRE(backend->dispatch_borrowed_into(program, spans, slots).has_value());
  CHECK(*borrowed == *owned);
  CHECK(timed->outputs == *owned);
  CHECK(slots == *owned);
  REQUIRE(owned->size() == 2);
  for (std::uint32_t i = 0; i < 16; ++i) {
    CHECK(words_of((*owned)[0])[i] == 3 * i + 100 + i);
    CHECK(words_of((*owned)[1])[i] == 3 + i);
  }
}

TEST_CASE("a timed dispatch says how long it took and how many iterations ran") {
  const auto backend = make_reference_backend();
  const std::vector<Bytes> in = saxpy_inputs();
  const auto timed = backend->dispatch_borrowed_timed(valid_program(kSaxpy), spans_of(in));
  REQUIRE(timed.has_value());
  REQUIRE(timed->timing.wall_ns.has_value());
  CHECK(*timed->timing.wall_ns > 0);
  CHECK(timed->timing.iterations_run == 1);
}

TEST_CASE("the inputs are left as they were") {
  const auto in = saxpy_inputs();
  const auto copy = in;
  REQUIRE(dispatch_text(kSaxpy, in).has_value());
  CHECK(in == copy);
}

TEST_CASE("slots are reused: the same allocations, whatever they held") {
  const auto backend = make_reference_backend();
  const ir::Program program = valid_program(kSaxpy);
  const auto in = saxpy_inputs();
  const auto spans = spans_of(in);
  std::vector<Bytes> slots{Bytes(64, std::byte{0xAA}), Bytes(200, std::byte{0xBB})};
  const std::byte* first = slots[0].data();
  const std::byte* second = slots[1].data();
  for (int i = 0; i < 3; ++i) {
    REQUIRE(backend->dispatch_borrowed_into(program, spans, slots).has_value());
    REQUIRE(slots.size() == 2);
    CHECK(slots[0].data() == first);
    CHECK(slots[1].data() == second);
    CHECK(slots[1].size() == 64);
    CHECK(words_of(slots[0])[15] == 3 * 15 + 115);
    CHECK(words_of(slots[1]) == counting(16, 3));
  }
}

TEST_CASE("too many or too few slots are brought to the number of results") {
  const auto backend = make_reference_backend();
  const auto in = saxpy_inputs();
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
    std::vector<Bytes> slots(count, Bytes(5, std::byte{1}));
    REQUIRE(
        backend->dispatch_borrowed_into(valid_program(kSaxpy), spans_of(in), slots).has_value());
    CHECK(slots.size() == 2);
    CHECK(words_of(slots[1]) == counting(16, 3));
  }
}

TEST_CASE("outputs start as zeros, in used slots too") {
  const auto backend = make_reference_backend();
  const ir::Program program = valid_program(
      "program p workgroup(1) { output a: u32[4]; writeonly b: u32[4]; live_out c: u32[4]; "
      "a[1] = a[1] + 1; b[2] = 5; c[3] = c[0] + 1; }");
  std::vector<Bytes> slots(3, Bytes(16, std::byte{0xFF}));
  for (int i = 0; i < 2; ++i) {
    REQUIRE(backend->dispatch_borrowed_into(program, {}, slots, on_grid(1)).has_value());
    CHECK(words_of(slots[0]) == Words{0, 1, 0, 0});
    CHECK(words_of(slots[1]) == Words{0, 0, 5, 0});
    CHECK(words_of(slots[2]) == Words{0, 0, 0, 1});
  }
}

TEST_CASE("inputs and results are in declaration order, whatever the bindings") {
  const auto out = dispatch_text(
      R"(program p workgroup(1) {
    readwrite d: u32[1] binding(9);
    output r: u32[1] binding(7);
    uniform c: u32[1] binding(5);
    readwrite b: u32[1] binding(3);
    readonly a: u32[1] binding(1);
    writeonly w: u32[1] binding(0);
    r[0] = a[0] * 1000 + b[0] * 100 + c[0] * 10 + d[0];
    w[0] = 77; d[0] = d[0] + 1; b[0] = b[0] + 1;
  })",
      {bytes_of(Words{4}), bytes_of(Words{3}), bytes_of(Words{2}), bytes_of(Words{1})}, on_grid(1));
  REQUIRE(out.has_value());
  REQUIRE(out->size() == 4);
  CHECK(words_of((*out)[0]) == Words{5});
  CHECK(words_of((*out)[1]) == Words{1234});
  CHECK(words_of((*out)[2]) == Words{3});
  CHECK(words_of((*out)[3]) == Words{77});
}

TEST_CASE("wrong counts and sizes of inputs are BadInputs") {
  auto in = saxpy_inputs();
  in.pop_back();
  CHECK(code_of(kSaxpy, in) == ErrorCode::BadInputs);
  in = saxpy_inputs();
  in.push_back(Bytes(4));
  CHECK(code_of(kSaxpy, in) == ErrorCode::BadInputs);
  in = saxpy_inputs();
  in[0].resize(8);
  CHECK(code_of(kSaxpy, in) == ErrorCode::BadInputs);
  in = saxpy_inputs();
  in[1].resize(63);
  CHECK(code_of(kSaxpy, in) == ErrorCode::BadInputs);
}

TEST_CASE("an error names the program") {
  const auto result = dispatch_text(kSaxpy, {});
  REQUIRE(!result.has_value());
  CHECK(result.error().context.program == "saxpy");
  CHECK(to_string(result.error()).find("saxpy") != std::string::npos);
  CHECK(to_string(result.error()).find("1009") != std::string::npos);
}

TEST_CASE("an input that lies in an output slot is refused") {
  const auto backend = make_reference_backend();
  const ir::Program program = valid_program(
      "program p workgroup(1) { readonly x: u32[]; output o: u32[4]; o[invocation.x] = x[3 - "
      "invocation.x]; }");
  std::vector<Bytes> slots{bytes_of(counting(16))};
  // Whole, partly, and behind the end but within the capacity.
  for (const auto& [offset, size] : {std::pair{0, 16}, std::pair{8, 16}, std::pair{48, 16}}) {
    const ByteSpan inside = ByteSpan(slots[0]).subspan(static_cast<std::size_t>(offset),
                                                       static_cast<std::size_t>(size));
    const std::vector<ByteSpan> in{inside};
    const auto result = backend->dispatch_borrowed_into(program, in, slots);
    REQUIRE(!result.has_value());
    CHECK(result.error().code == ErrorCode::BadInputs);
  }
}

TEST_CASE("one input may be given twice") {
  const Bytes both = bytes_of(counting(4, 1));
  const std::vector<ByteSpan> in{both, both};
  const auto out = make_reference_backend()->dispatch_borrowed(
      valid_program("program p workgroup(4) { readonly a: u32[]; readwrite b: u32[]; b[local.x] = "
                    "a[3 - local.x]; }"),
      in);
  REQUIRE(out.has_value());
  CHECK(words_of((*out)[0]) == Words{4, 3, 2, 1});
  CHECK(words_of(both) == counting(4, 1));
}

TEST_CASE("max_output_bytes refuses before anything runs") {
  DispatchConfig config;
  config.max_output_bytes = 127;
  const auto result = dispatch_text(kSaxpy, saxpy_inputs(), config);
  REQUIRE(!result.has_value());
  CHECK((result.error().code == ErrorCode::BadInputs ||
         result.error().code == ErrorCode::DeviceOutOfMemory));
  config.max_output_bytes = 128;
  CHECK(dispatch_text(kSaxpy, saxpy_inputs(), config).has_value());
}

TEST_CASE("outputs of four billion elements are DeviceOutOfMemory, with the figures") {
  ReferenceOptions options;
  options.memory_limit = std::uint64_t{1} << 30;
  const auto result =
      dispatch_text("program p workgroup(1) { output o: u64[4294967295]; o[0] = 1u64; }", {},
                    on_grid(1), options);
  REQUIRE(!result.has_value());
  CHECK(result.error().code == ErrorCode::DeviceOutOfMemory);
  REQUIRE(result.error().context.requested.has_value());
  REQUIRE(result.error().context.available.has_value());
  CHECK(*result.error().context.requested >= std::uint64_t{4294967295} * 8);
  CHECK(*result.error().context.available <= options.memory_limit);
}

TEST_CASE("many large outputs together are DeviceOutOfMemory, on the machine's own limit") {
  std::string text = "program p workgroup(1) {\n";
  for (int i = 0; i < 64; ++i) text += "output o" + std::to_string(i) + ": f64[4294967295];\n";
  CHECK(code_of(text + "o0[0] = 1.0f64;\n}", {}, on_grid(1)) == ErrorCode::DeviceOutOfMemory);
}

TEST_CASE("a grid barrier over more invocations than fit the memory is DeviceOutOfMemory") {
  ReferenceOptions options;
  options.memory_limit = 1 << 20;
  const auto result = dispatch_text(
      "program p workgroup(64) { output o: u32[4]; let x = u64(invocation.x); gridsync; "
      "atomic_add(o[0], u32(x)); }",
      {}, on_grid(100'000), options);
  REQUIRE(!result.has_value());
  CHECK(result.error().code == ErrorCode::DeviceOutOfMemory);
}

TEST_CASE("an endless program ends with Timeout soon after its time") {
  const char* const texts[] = {
      "program p workgroup(64) { output o: u32[1]; let x = 0; loop i in 0..4294967295 { loop j in "
      "0..4294967295 "
      "{ x = x * 3 + j; } } o[0] = x; }",
      "program p workgroup(1) { output o: u32[1]; loop i in 0..4294967295 { loop j in "
      "0..4294967295 { } } o[0] = 1; }",
      "program p workgroup(64) { uniform n: u32[1]; output o: u32[1]; loop i in 0..n[0] { "
      "gridsync; } o[0] = 1; }",
  };
  for (const char* text : texts) {
    DispatchConfig config = on_grid(4);
    config.timeout = std::chrono::milliseconds(150);
    const bool takes_input = std::string_view(text).find("uniform") != std::string_view::npos;
    CHECK(code_of(
              text,
              takes_input ? std::vector<Bytes>{bytes_of(Words{0xFFFF'FFFF})} : std::vector<Bytes>{},
              config) == ErrorCode::Timeout);
  }
}

TEST_CASE("a huge grid of empty work is stopped by the timeout as well") {
  DispatchConfig config = on_grid(65536, 65536, 65536);  // the most that is not refused
  config.timeout = std::chrono::milliseconds(100);
  CHECK(code_of("program p workgroup(1) { output o: u32[1]; o[0] = 1; }", {}, config) ==
        ErrorCode::Timeout);
}

TEST_CASE("zero-length inputs are fine") {
  const auto out = dispatch_text(kSaxpy, {bytes_of(Words{3}), {}, {}});
  REQUIRE(out.has_value());
  CHECK((*out)[0].empty());
  CHECK(words_of((*out)[1]) == counting(16, 3));
}

TEST_CASE("nothing but a zero-length input-output infers an empty grid") {
  const auto out =
      dispatch_text("program p workgroup(4) { readwrite y: u32[]; y[invocation.x] = 1; }", {{}});
  REQUIRE(out.has_value());
  REQUIRE(out->size() == 1);
  CHECK((*out)[0].empty());
}

TEST_CASE("zero workgroups run nothing and give zeroed outputs and unchanged input-outputs") {
  for (const auto& config : {on_grid(0), on_grid(3, 0), on_grid(3, 3, 0)}) {
    const auto out = dispatch_text(kSaxpy, saxpy_inputs(), config);
    REQUIRE(out.has_value());
    CHECK(words_of((*out)[0]) == counting(16, 100));
    CHECK(words_of((*out)[1]) == Words(16, 0));
  }
}

TEST_CASE("a program that does not validate is InvalidProgram") {
  const auto program = ir::parse("program p workgroup(1) { readonly o: u32[1]; o[0] = nosuch; }");
  REQUIRE(program.has_value());
  const auto result = make_reference_backend()->dispatch(*program, {Bytes(4)});
  REQUIRE(!result.has_value());
  CHECK(result.error().code == ErrorCode::InvalidProgram);
  const auto empty = make_reference_backend()->dispatch(ir::Program(), {});
  REQUIRE(!empty.has_value());
  CHECK(empty.error().code == ErrorCode::InvalidProgram);
}

TEST_CASE("workgroup_override changes the size and is validated") {
  const char* const text = R"(program p workgroup(8) { output o: u32[24];
    o[invocation.x] = workgroup_size.x * 1000 + workgroup_id.x; })";
  DispatchConfig config;
  config.workgroup_override = {3, 1, 1};
  const auto out = dispatch_text(text, {}, config);
  REQUIRE(out.has_value());
  for (std::uint32_t i = 0; i < 24; ++i) CHECK(words_of((*out)[0])[i] == 3000 + i / 3);
  for (const Extent3 bad :
       {Extent3{0, 1, 1}, {65537, 1, 1}, {1024, 1024, 1024}, {0xFFFF'FFFF, 0xFFFF'FFFF, 2}}) {
    config.workgroup_override = bad;
    const ErrorCode code = code_of(text, {}, config);
    CHECK((code == ErrorCode::BadInputs || code == ErrorCode::InvalidProgram));
  }
}

TEST_CASE("a cooperative dispatch runs: the reference has grid barriers") {
  DispatchConfig config;
  config.cooperative = true;
  const auto plain = dispatch_text(kSaxpy, saxpy_inputs(), {});
  const auto result = dispatch_text(kSaxpy, saxpy_inputs(), config);
  REQUIRE(plain.has_value());
  REQUIRE(result.has_value());
  CHECK(*result == *plain);
  const auto turned = dispatch_text(
      "program p workgroup(2) { readwrite x: u32[]; let i = invocation.x;"
      " let other = x[len(x) - 1 - i]; gridsync; x[i] = other; }",
      {bytes_of(counting(6))}, config);
  REQUIRE(turned.has_value());
  CHECK(words_of((*turned)[0]) == Words{5, 4, 3, 2, 1, 0});
}

TEST_CASE("eight threads share one backend") {
  const auto backend = make_reference_backend();
  const ir::Program program = valid_program(kSaxpy);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<Bytes> in{bytes_of(Words{t}), bytes_of(counting(16)),
                                  bytes_of(counting(16, t))};
      std::vector<Bytes> slots;
      for (int i = 0; i < 25; ++i) {
        const auto done = backend->dispatch_borrowed_into(program, spans_of(in), slots);
        if (!done.has_value() || slots.size() != 2) {
          ++wrong;
          continue;
        }
        std::uint32_t last = 0;
        std::memcpy(&last, slots[0].data() + 60, 4);
        if (last != t * 15 + t + 15) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE(
    "dropping a dispatch ends its work: neither the drop nor the backend's end waits for it") {
  // Longer than any test: what waits for its end hangs.
  const char* const loops =
      " loop i in 0..4294967295 { loop j in 0..4294967295 { n[0] = n[0] + 1; } } }";
  const ir::Program plain =
      valid_program(std::string("program plain workgroup(64) { readwrite n: u32[1];") + loops);
  const ir::Program synced = valid_program(
      std::string("program synced workgroup(64) { readwrite n: u32[1]; n[0] = 1; gridsync;") +
      loops);
  for (const ir::Program& program : {plain, synced}) {
    for (const GridSync form : {GridSync::Automatic, GridSync::HostSplit}) {
      for (const std::uint32_t groups : {1u, 4096u}) {
        DispatchConfig config = on_grid(groups);
        config.grid_sync = form;
        auto backend = must(make_backend("reference"));
        auto pending = must(backend->dispatch_async(program, {Bytes(4)}, config));
        CHECK(!pending->is_ready());
        pending.reset();
        // One that is held does not keep the backend either.
        pending = must(backend->dispatch_async(program, {Bytes(4)}, config));
        backend.reset();
        CHECK(code_of(pending->wait()) == ErrorCode::DispatchFailed);
      }
    }
  }
}

TEST_CASE("a timeout also ends iterations and repeats that have no workgroups") {
  const auto backend = must(make_backend("reference"));
  const ir::Program program =
      valid_program("program p workgroup(1) { readwrite x: u32[1]; x[0] = 1; }");
  DispatchConfig config = on_grid(0);
  config.fixpoint_iterations = UINT32_MAX;
  config.convergence.kind = Convergence::Kind::None;
  config.timeout = std::chrono::milliseconds(20);
  CHECK(code_of(backend->dispatch(program, {Bytes(4)}, config)) == ErrorCode::Timeout);
  const ResidentHandle buffer = must(backend->allocate_resident(4));
  const std::vector<ResidentStep> steps{
      {.program = program, .resources = {buffer}, .grid_override = Extent3{0, 1, 1}}};
  std::vector<Bytes> slots;
  CHECK(code_of(backend->submit_resident({.repeated = steps, .count = UINT32_MAX}, slots,
                                         {.timeout = std::chrono::milliseconds(20)})) ==
        ErrorCode::Timeout);
}
