// Grids that are read from resident buffers when their step runs.
#include "conformance/conformance.h"

using namespace felsite;
using namespace felsite::test;

namespace {

const char* const kCountProgram =
    "program count workgroup(1) { readonly g: u32[]; readwrite n: u32[]; indirect_dispatch(g[1]);"
    " atomic_add(n[0], 1); n[1] = num_workgroups.x * 100 + num_workgroups.y * 10 +"
    " num_workgroups.z; }";
const char* const kSetGrid =
    "program set_grid workgroup(1) { readonly from: u32[]; readwrite g: u32[];"
    " g[1] = from[0]; g[2] = from[1]; g[3] = g[3] + 1; }";

}  // namespace

TEST_CASE("a grid in a resident buffer") {
  const auto run = [&](const Words& grid) {
    const OnDevice g(grid);
    const OnDevice n(Words{0, 0});
    must(tested().dispatch_resident(valid_program(kCountProgram),
                                    std::vector{g.handle(), n.handle()}));
    return n.words();
  };
  CHECK(run({99, 3, 2, 1}) == Words{6, 321});
  CHECK(run({99, 1, 1, 1}) == Words{1, 111});
  CHECK(run({99, 0, 1, 1}) == Words{0, 0});
  CHECK(run({99, 5, 5}) == Words{0, 0});
  CHECK(run({}) == Words{0, 0});
  const OnDevice g(Words{0, 1, 1, 1});
  const OnDevice n(Words{0, 0});
  CHECK(code_of(tested().dispatch_resident(valid_program(kCountProgram),
                                           std::vector{g.handle(), n.handle()}, on_grid(1))) ==
        ErrorCode::BadInputs);
  CHECK(n.words() == Words{0, 0});
}

TEST_CASE("an earlier step computes the grid") {
  const OnDevice from(Words{4, 2});
  const OnDevice g(Words{0, 77, 0, 2});
  const OnDevice n(Words{0, 0});
  const std::vector<ResidentStep> steps{{.program = valid_program(kSetGrid),
                                         .resources = {from.handle(), g.handle()},
                                         .grid_override = {{1, 1, 1}}},
                                        step(kCountProgram, {g.handle(), n.handle()})};
  const ResidentRange read{.buffer = n.handle()};
  std::vector<Bytes> slots;
  must(tested().dispatch_resident_sequence_read_ranges_into(steps, {&read, 1}, slots));
  CHECK(words_of(slots[0]) == Words{4 * 2 * 3, 423});
  // Each iteration of the block makes the grid one larger: 4, 5 and 6 on z.
  must(tested().dispatch_resident_repeated_sequence_read_ranges_into({}, steps, 3, {&read, 1},
                                                                     slots));
  CHECK(words_of(slots[0]) == Words{4 * 2 * (3 + 4 + 5 + 6), 426});
}

TEST_CASE("an upload in the same submission brings the grid") {
  const OnDevice g(Words{0, 9, 9, 9});
  const OnDevice n(Words{0, 0});
  const std::vector<ResidentStep> steps{step(kCountProgram, {g.handle(), n.handle()})};
  const Bytes words = bytes_of(Words{2, 2, 2});
  const ResidentUpload upload{.buffer = g.handle(), .offset = 4, .bytes = words};
  const ResidentFill fill{.buffer = n.handle(), .value = std::byte{0}};
  const ResidentRange read{.buffer = n.handle()};
  const ResidentSubmission submission{
      .fills = {&fill, 1}, .uploads = {&upload, 1}, .prefix = steps, .reads = {&read, 1}};
  std::vector<Bytes> slots;
  must(tested().submit_resident(submission, slots));
  CHECK(words_of(slots[0]) == Words{8, 222});
  const auto recorded = must(tested().record_resident(submission));
  for (const std::uint32_t x : {3u, 1u, 0u, 5u}) {
    const Bytes fresh = bytes_of(Words{x, 1, 1});
    const ByteSpan span = fresh;
    must(recorded->run_into(slots, {&span, 1}));
    CHECK(words_of(slots[0]) == (x == 0 ? Words{0, 0} : Words{x, x * 100 + 11}));
  }
}

TEST_CASE("iterations on a grid that the program itself changes, on resident buffers") {
  // Each workgroup counts; the first one halves the grid of the next iteration.
  const ir::Program halve = valid_program(
      "program halve workgroup(1) { readwrite g: u32[3]; readwrite n: u32[]; readwrite flag: "
      "u32[1];"
      " indirect_dispatch(g[0]); atomic_add(n[workgroup_id.x], 1);"
      " if workgroup_id.x == 0 { flag[0] = 1; g[0] = num_workgroups.x / 2; } }");
  struct Case {
    Convergence convergence;
    std::uint32_t bound;
    std::uint32_t ran;
    bool converged;
  };
  // 100, 50, 25, 12, 6, 3, 1 and 0: the eighth iteration changes nothing.
  for (const auto& [convergence, bound, ran, converged] :
       {Case{{}, 3, 3, false}, Case{{}, 8, 8, true}, Case{{}, 9, 8, true}, Case{{}, 500, 8, true},
        Case{{.kind = Convergence::Kind::Flag, .flag = "flag"}, 500, 8, true},
        Case{{.kind = Convergence::Kind::Flag, .flag = "flag"}, 7, 7, false},
        Case{{.kind = Convergence::Kind::None}, 20, 20, false}}) {
    CAPTURE(bound);
    CAPTURE(static_cast<int>(convergence.kind));
    const OnDevice g(Words{100, 1, 1});
    const OnDevice n((Words(100)));
    const OnDevice flag(Words{5});
    DispatchConfig config;
    config.fixpoint_iterations = bound;
    config.convergence = convergence;
    const std::vector<ResidentHandle> resources{g.handle(), n.handle(), flag.handle()};
    const DispatchTiming timing = must(tested().dispatch_resident_timed(halve, resources, config));
    CHECK(timing.iterations_run == ran);
    CHECK(timing.converged == converged);
    Words expected(100);
    std::uint32_t grid = 100;
    for (std::uint32_t i = 0; i < ran; ++i) {
      for (std::uint32_t w = 0; w < grid; ++w) ++expected[w];
      grid /= 2;
    }
    CHECK(n.words() == expected);
    CHECK(g.words() == Words{grid, 1, 1});
    if (convergence.kind == Convergence::Kind::Flag)
      CHECK(flag.words() == Words{converged ? 0u : 1u});
  }
}

TEST_CASE("a grid from a resident buffer, for a program with grid barriers") {
  const ir::Program sums = valid_program(
      "program sums workgroup(2) { readonly g: u32[3]; readwrite o: u32[2]; "
      "indirect_dispatch(g[0]);"
      " atomic_add(o[0], 1); gridsync; atomic_add(o[1], o[0]); }");
  const OnDevice g(Words{3, 1, 1});
  const OnDevice o(Words{0, 0});
  const std::vector<ResidentHandle> resources{g.handle(), o.handle()};
  must(tested().dispatch_resident(sums, resources));
  CHECK(o.words() == Words{6, 36});
  // The same buffers with another grid.
  must(tested().upload_resident(g.handle(), bytes_of(Words{2, 2, 1})));
  must(tested().upload_resident(o.handle(), bytes_of(Words{0, 0})));
  must(tested().dispatch_resident(sums, resources));
  CHECK(o.words() == Words{8, 64});
  DispatchConfig twice;
  twice.fixpoint_iterations = 2;
  twice.convergence.kind = Convergence::Kind::None;
  must(tested().upload_resident(o.handle(), bytes_of(Words{0, 0})));
  must(tested().dispatch_resident(sums, resources, twice));
  CHECK(o.words() == Words{16, 64 + 128});
}

TEST_CASE("a program whose grid would be read before it is known to be valid is refused") {
  const ir::Program late = parsed(
      "program late workgroup(2) { readonly g: u32[3]; readwrite o: u32[2]; o[0] = 1; gridsync;"
      " indirect_dispatch(g[0]); }");
  const OnDevice g(Words{1, 1, 1});
  const OnDevice o(Words{0, 0});
  const std::vector<ResidentHandle> resources{g.handle(), o.handle()};
  CHECK(code_of(tested().dispatch_resident(late, resources)) == ErrorCode::InvalidProgram);
  CHECK(code_of(tested().dispatch_resident(ir::Program(), resources)) == ErrorCode::InvalidProgram);
}
