// Grid barriers and iterations on buffers that the caller holds on the device.
#include "conformance/conformance.h"
#include "support/skip.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// One hop an iteration: a word takes its left neighbour's bits. The flag says whether one changed.
const char* const kSpread = R"(program spread workgroup(8) {
  readwrite x: u32[]; readwrite flag: u32[1];
  let i = invocation.x;
  if i >= len(x) { return; }
  let from = select(i == 0, x[0], x[max(i, 1) - 1]);
  gridsync;
  if (x[i] | from) != x[i] { x[i] = x[i] | from; flag[0] = 1; }
})";

struct Run {
  DispatchTiming timing;
  Words x;
  Words flag;
};

Run run(const DispatchConfig& config, bool compiled = false) {
  Words start(21);
  start[0] = 5;
  const OnDevice x(start);
  const OnDevice flag(Words{77});
  const ir::Program program = valid_program(kSpread);
  const std::vector<ResidentHandle> resources{x.handle(), flag.handle()};
  Run result;
  if (compiled) {
    const auto pipeline = must(tested().compile(program, config));
    result.timing = must(pipeline->dispatch_resident(resources));
  } else {
    result.timing = must(tested().dispatch_resident_timed(program, resources, config));
  }
  result.x = x.words();
  result.flag = flag.words();
  return result;
}

DispatchConfig iterations(std::uint32_t bound, Convergence convergence = {}) {
  DispatchConfig config;
  config.grid_override = {3, 1, 1};
  config.fixpoint_iterations = bound;
  config.convergence = std::move(convergence);
  return config;
}

}  // namespace

TEST_CASE("a program with grid barriers runs on resident buffers, once") {
  const Run once = run(iterations(1));
  CHECK(once.x[1] == 5);
  CHECK(once.x[2] == 0);
  CHECK(once.flag == Words{1});
  CHECK(once.timing.iterations_run == 1);
}

TEST_CASE("iterations on resident buffers end when nothing changes, and are counted") {
  const Words all(21, 5);
  for (const bool compiled : {false, true}) {
    CAPTURE(compiled);
    // The flag stays as the caller left it or as an iteration set it: it is a buffer like others.
    const Run automatic = run(iterations(100), compiled);
    CHECK(automatic.x == all);
    CHECK(automatic.timing.iterations_run == 21);
    CHECK(automatic.timing.converged);
    const Run flagged = run(iterations(100, {Convergence::Kind::Flag, "flag"}), compiled);
    CHECK(flagged.x == all);
    CHECK(flagged.flag == Words{0});
    CHECK(flagged.timing.iterations_run == 21);
    CHECK(flagged.timing.converged);
    const Run bounded = run(iterations(7, {Convergence::Kind::Flag, "flag"}), compiled);
    CHECK(bounded.x[7] == 5);
    CHECK(bounded.x[8] == 0);
    CHECK(bounded.flag == Words{1});
    CHECK(bounded.timing.iterations_run == 7);
    CHECK_FALSE(bounded.timing.converged);
    const Run all_of_them = run(iterations(30, {Convergence::Kind::None, ""}), compiled);
    CHECK(all_of_them.x == all);
    CHECK(all_of_them.timing.iterations_run == 30);
    CHECK_FALSE(all_of_them.timing.converged);
  }
}

TEST_CASE(
    "a second run of the same iterations on the same buffers allocates and records nothing again") {
  const OnDevice x(Words(21, 1));
  const OnDevice flag(Words{0});
  const std::vector<ResidentHandle> resources{x.handle(), flag.handle()};
  const ir::Program program = valid_program(kSpread);
  must(tested().dispatch_resident(program, resources, iterations(50)));
  const MetricSnapshot before = tested().metric_snapshot();
  const Telemetry counts =
      counted([&] { must(tested().dispatch_resident(program, resources, iterations(50))); });
  const MetricSnapshot after = tested().metric_snapshot();
  CHECK(after.recordings == before.recordings);
  CHECK(after.allocations == before.allocations);
  CHECK(counts[Counter::Recordings] == 0);
  CHECK(counts[Counter::PipelinesCompiled] == 0);
  CHECK(counts[Counter::UploadBytes] == 0);
  CHECK(counts[Counter::DownloadBytes] == 0);
}

TEST_CASE("resident outputs begin as the caller's bytes: their forms count as changes") {
  // A NaN with a payload, a subnormal and one below zero are rewritten once, in the only form that
  // is stored.
  const OnDevice x(Words{0x7FC0'0001, 1, 0x3F80'0000, 0x8000'0001});
  const ir::Program program = valid_program(
      "program p workgroup(4) { output x: f32[4]; x[invocation.x] = x[invocation.x]; }");
  DispatchConfig config = iterations(9);
  for (const GridSync form : {GridSync::Automatic, GridSync::Resident}) {
    if (has_grid_barriers() && form != GridSync::Automatic) continue;
    config.grid_override = {1, 1, 1};
    config.grid_sync = form;
    must(tested().upload_resident(x.handle(),
                                  bytes_of(Words{0x7FC0'0001, 1, 0x3F80'0000, 0x8000'0001})));
    const DispatchTiming timing =
        must(tested().dispatch_resident_timed(program, std::vector{x.handle()}, config));
    CHECK(x.words() == Words{0x7FC0'0000, 0, 0x3F80'0000, 0x8000'0000});
    CHECK(timing.iterations_run == 2);
    CHECK(timing.converged);
  }
}

TEST_CASE("loops on resident buffers that are too long for one workgroup's budget") {
  const ir::Program program = valid_program(R"(program p workgroup(4) {
    readonly trips: u32[1]; readwrite o: u32[4];
    let s = invocation.x;
    loop k in 0..trips[0] { s = s * 1664525 + k; }
    gridsync;
    loop k in 0..trips[0] { s = s * 1664525 + k; }
    o[invocation.x] = s;
  })");
  constexpr std::uint32_t kTrips = 40'000;
  Words expected(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    expected[i] = i;
    for (std::uint32_t k = 0; k < 2 * kTrips; ++k) {
      expected[i] = expected[i] * 1664525 + k % kTrips;
    }
  }
  const OnDevice trips(Words{kTrips});
  const OnDevice o(Words(4));
  DispatchConfig config;
  config.grid_override = {1, 1, 1};
  must(tested().dispatch_resident(program, std::vector{trips.handle(), o.handle()}, config));
  CHECK(o.words() == expected);
}

TEST_CASE("iterations without time end at once, also where they are recorded already") {
  const OnDevice x(Words{1, 0, 0, 0});
  const OnDevice flag(Words{0});
  const std::vector<ResidentHandle> resources{x.handle(), flag.handle()};
  const ir::Program program = valid_program(kSpread);
  must(tested().dispatch_resident(program, resources, iterations(2)));
  must(tested().upload_resident(x.handle(), bytes_of(Words{1, 0, 0, 0})));
  DispatchConfig config = iterations(2);
  config.timeout = std::chrono::nanoseconds(0);
  CHECK(code_of(tested().dispatch_resident(program, resources, config)) == ErrorCode::Timeout);
  CHECK(x.words() == Words{1, 0, 0, 0});
}

TEST_CASE("a step of a sequence may have grid barriers") {
  Words start(21);
  start[0] = 9;
  const OnDevice x(start);
  const OnDevice flag(Words{0});
  const ResidentStep step{.program = valid_program(kSpread),
                          .resources = {x.handle(), flag.handle()},
                          .grid_override = Extent3{3, 1, 1},
                          .workgroup_override = {},
                          .label = {}};
  std::vector<Bytes> outputs;
  const ResidentRange whole{.buffer = x.handle()};
  must(tested().dispatch_resident_repeated_sequence_read_ranges_into(
      std::vector{step}, std::vector{step}, 4, std::vector{whole}, outputs));
  Words expected(21);
  for (std::size_t i = 0; i <= 5; ++i) expected[i] = 9;
  CHECK(words_of(outputs.front()) == expected);
}

TEST_CASE("iterations on resident buffers that make no sense are refused") {
  const OnDevice x(Words(8));
  const OnDevice flag(Words{0});
  const std::vector<ResidentHandle> resources{x.handle(), flag.handle()};
  const ir::Program program = valid_program(kSpread);
  CHECK(code_of(tested().dispatch_resident(program, resources, iterations(0))) ==
        ErrorCode::BadInputs);
  CHECK(code_of(tested().dispatch_resident(program, resources,
                                           iterations(3, {Convergence::Kind::Flag, "nothing"}))) ==
        ErrorCode::BadInputs);
  CHECK(code_of(tested().dispatch_resident(program, std::vector{x.handle()}, iterations(3))) ==
        ErrorCode::BadInputs);
}
