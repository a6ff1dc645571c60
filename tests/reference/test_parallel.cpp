// Running workgroups on several threads changes no byte; when it is allowed is decided by proof.
#include "reference/independence.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct Row {
  const char* why;
  const char* declarations;
  const char* statements;
  bool independent;
  Extent3 grid = {8, 1, 1};
};

const Row kRows[] = {
    {"own element", "output o: u32[64];", "o[invocation.x] = 1;", true},
    {"own element, read and written", "readwrite o: u32[];",
     "o[invocation.x] = o[invocation.x] + 1;", true},
    {"own element through a let", "output o: u32[64];", "let i = invocation.x; o[i] = 1;", true},
    {"a block of four for each", "output o: u32[64];", "o[invocation.x * 4 + 3] = 1;", true},
    {"one for the workgroup", "output o: u32[64];", "o[workgroup_id.x] = 1;", true},
    {"reads anything that nothing writes", "readonly x: u32[]; output o: u32[64];",
     "o[invocation.x] = x[x[5]];", true},
    {"workgroup memory and its atomics", "output o: u32[64]; workgroup t: u32[1];",
     "atomic_add(t[0], 1); barrier; o[invocation.x] = t[0];", true},
    {"writes nothing", "readwrite o: u32[];", "let x = o[3];", true},
    {"the same element for all", "output o: u32[64];", "o[0] = 1;", false},
    {"the local id", "output o: u32[64];", "o[local.x] = 1;", false},
    {"a neighbour is read", "output o: u32[64];", "o[invocation.x] = o[invocation.x + 1];", false},
    {"the offset reaches the stride", "output o: u32[64];", "o[invocation.x * 4 + 4] = 1;", false},
    {"two strides in one buffer", "output o: u32[64];",
     "o[invocation.x * 2] = 1; o[invocation.x * 3] = 1;", false},
    {"own element and the workgroup's in one buffer", "output o: u32[64];",
     "o[invocation.x] = 1; o[workgroup_id.x] = 2;", false},
    {"the stride is not a literal", "uniform n: u32[1]; output o: u32[64];",
     "o[invocation.x * n[0]] = 1;", false},
    {"multiplication by zero", "output o: u32[64];", "o[invocation.x * 0] = 1;", false},
    {"a storage atomic", "output o: u32[64];", "atomic_add(o[invocation.x], 1);", false},
    {"a loaded index", "readonly x: u32[]; output o: u32[64];", "o[x[invocation.x]] = 1;", false},
    {"an assigned variable", "output o: u32[64];", "let i = invocation.x; i = 3; o[i] = 1;", false},
    {"a grid barrier", "output o: u32[64];", "o[invocation.x] = 1; gridsync; o[invocation.x] = 2;",
     false},
    {"the other axis", "output o: u32[64];", "o[invocation.y] = 1;", false},
    {"x where the grid extends along y",
     "output o: u32[64];",
     "o[invocation.x] = 1;",
     false,
     {1, 8, 1}},
    {"y where the invocations extend along x too",
     "output o: u32[64];",
     "o[invocation.y] = 1;",
     false,
     {1, 8, 1}},
    {"x where the grid extends along x and y",
     "output o: u32[64];",
     "o[invocation.x] = 1;",
     false,
     {8, 8, 1}},
    {"an async store", "output o: u32[64]; workgroup t: u32[8];",
     "async_store(o[0], t[0], 4, a); async_wait(a);", false},
    {"a collective", "readwrite o: u32[];", "all_reduce.add(o);", false},
    {"the stride wraps around", "output o: u32[64];", "o[invocation.x * 2147483648] = 1;", false},
};

ReferenceOptions on_threads(unsigned threads) {
  ReferenceOptions options;
  options.threads = threads;
  return options;
}

std::string text_of(const Row& row) {
  return std::string("program p workgroup(8) { ") + row.declarations + " " + row.statements + " }";
}

}  // namespace

TEST_CASE("which programs have independent workgroups, and why not") {
  for (const Row& row : kRows) {
    CAPTURE(std::string(row.why));
    CAPTURE(std::string(row.statements));
    CHECK(reference::workgroups_are_independent(valid_program(text_of(row)), row.grid) ==
          row.independent);
  }
}

TEST_CASE("whatever is called independent gives the same bytes in every order and on any threads") {
  for (const Row& row : kRows) {
    const ir::Program program = valid_program(text_of(row));
    if (!reference::workgroups_are_independent(program, row.grid)) continue;
    CAPTURE(std::string(row.why));
    std::vector<Bytes> in;
    for (const ir::BufferDecl& buffer : program.buffers()) {
      if (ir::takes_caller_bytes(ir::role_of(buffer))) in.push_back(bytes_of(counting(64)));
    }
    const auto config = on_grid(row.grid[0], row.grid[1], row.grid[2]);
    const auto one = run(text_of(row), in, config, on_threads(1));
    ReferenceOptions reversed = on_threads(1);
    reversed.order = WorkgroupOrder::Reversed;
    CHECK(run(text_of(row), in, config, reversed) == one);
    CHECK(run(text_of(row), in, config, on_threads(4)) == one);
  }
}

TEST_CASE("1, 2 and 8 threads give identical bytes") {
  const char* texts[] = {
      R"(program p workgroup(64) { readonly x: u32[]; output o: f32[16384];
         let v = f32(x[invocation.x % len(x)]);
         loop k in 0..invocation.x % 37 { v = fma(v, 1.0001, 0.5) / 1.25; }
         o[invocation.x] = sqrt(v); })",
      R"(program p workgroup(32) { readonly x: u32[]; output o: u32[16384]; workgroup t: u32[32];
         t[local.x] = x[invocation.x % len(x)] * 3;
         barrier;
         if local.x % 3 == 0 { return; }
         o[invocation.x] = t[31 - local.x] + subgroup_add(local.x); })",
      R"(program p workgroup(48) { readonly x: u32[]; output o: u8[16384];
         o[invocation.x] = x[invocation.x % len(x)] + invocation.x; })",
      R"(program p workgroup(16) { readonly x: u32[]; output o: u64[16384]; output q: u16[16384];
         o[invocation.x] = u64(x[invocation.x % len(x)]) << 20u64;
         q[invocation.x] = invocation.x; })",
  };
  const std::vector<Bytes> in{bytes_of(counting(1000, 17))};
  for (const char* text : texts) {
    const auto one = run(text, in, inferred_grid(), on_threads(1));
    CHECK(run(text, in, inferred_grid(), on_threads(2)) == one);
    CHECK(run(text, in, inferred_grid(), on_threads(8)) == one);
    CHECK(run(text, in, inferred_grid(), on_threads(0)) == one);
  }
}

TEST_CASE("order-dependent programs run in their order, however many threads are allowed") {
  const std::string text =
      "program p workgroup(4) { output o: u32[1]; o[0] = o[0] * 3 + workgroup_id.x; }";
  const auto one = run(text, {}, on_grid(200), on_threads(1));
  for (int i = 0; i < 5; ++i) CHECK(run(text, {}, on_grid(200), on_threads(8)) == one);
}

TEST_CASE("out-of-bounds counts add up over threads") {
  for (const unsigned threads : {1u, 2u, 8u}) {
    const auto backend = make_reference_backend(on_threads(threads));
    const auto out = backend->dispatch(
        valid_program("program p workgroup(16) { readonly x: u32[]; output o: u32[4096]; "
                      "o[invocation.x * 2] = x[invocation.x]; }"),
        {bytes_of(counting(96))}, on_grid(256));
    REQUIRE(out.has_value());
    CHECK(backend->out_of_bounds().loads == 4096 - 96);
    CHECK(backend->out_of_bounds().stores == 2048);
  }
}

TEST_CASE("a parallel run honours the timeout") {
  DispatchConfig config;
  config.timeout = std::chrono::milliseconds(50);
  const Error error = run_error(R"(program p workgroup(8) {
    output o: u32[512];
    let x = 0;
    loop i in 0..4294967295 { x = x ^ i; }
    o[invocation.x] = x;
  })",
                                {}, config, on_threads(4));
  CHECK(error.code == ErrorCode::Timeout);
}
