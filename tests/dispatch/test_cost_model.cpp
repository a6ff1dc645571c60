// What the forms of a dispatch are estimated to cost, and what the estimates must do whatever the
// figures are.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "dispatch/cost/cost_model.h"
#include "support/parse.h"
#include "support/program_generator.h"

using namespace felsite;
using namespace felsite::test;

namespace {

struct CostSetup {
  Extent3 grid{16, 1, 1};
  std::uint32_t iterations = 1;
  Convergence::Kind convergence = Convergence::Kind::None;
  std::uint32_t compute_units = 2;
  bool conditional_steps = true;
  bool has_int64 = true;
  std::vector<std::uint64_t> lengths{1024, 1024, 1024};
  std::vector<ByteSpan> contents{};
};

DeviceProfile costed_device(const CostSetup& setup) {
  DeviceProfile device;
  device.max_workgroup_invocations = 1024;
  device.max_workgroup_size = {1024, 1024, 64};
  device.subgroup_size = 8;
  device.compute_units = setup.compute_units;
  device.conditional_steps = setup.conditional_steps;
  return device;
}

std::string costed_text(std::string_view statements) {
  return fmt::format(
      "program p workgroup(64) {{ readwrite x: u32[]; readonly n: u32[]; uniform u: u32[]; "
      "let i = invocation.x; {} }}",
      statements);
}

dispatch::FormEstimates estimates_of(const ir::Program& program, const CostSetup& setup) {
  DispatchConfig config;
  config.fixpoint_iterations = setup.iterations;
  config.convergence.kind = setup.convergence;
  return dispatch::estimate_forms(
      program, config, setup.grid, costed_device(setup),
      {.lengths = setup.lengths, .contents = setup.contents, .has_int64 = setup.has_int64});
}
dispatch::FormEstimates estimates_of(std::string_view statements, const CostSetup& setup = {}) {
  return estimates_of(valid_program(costed_text(statements)), setup);
}

// Which form is cheaper.
std::string cheaper(std::string_view statements, const CostSetup& setup = {}) {
  const auto estimates = estimates_of(statements, setup);
  return estimates.one_workgroup_ns <= estimates.resident_ns ? "one workgroup" : "resident";
}

std::string work_of(std::string_view statements, const CostSetup& setup = {}) {
  const ir::Program program = valid_program(costed_text(statements));
  const auto work = dispatch::count_work(
      program, setup.grid,
      {.lengths = setup.lengths, .contents = setup.contents, .has_int64 = setup.has_int64});
  std::string text = fmt::format("{:g} operations, {:g} accesses, {:g} atomics, {:g} trips",
                                 work.operations, work.accesses, work.atomics, work.trips);
  if (work.local_barriers != 0) text += fmt::format(", {:g} barriers", work.local_barriers);
  if (work.grid_barriers != 0) {
    text += fmt::format(", {:g} grid barriers{}{}", work.grid_barriers,
                        work.is_resolved ? "" : ", walked by the device",
                        work.ends_with_barrier ? ", the last at the end" : "");
  }
  if (work.kept_values != 0) text += fmt::format(", {:g} kept", work.kept_values);
  return text;
}

std::string assumptions_of(std::string_view statements, const CostSetup& setup = {}) {
  std::string text;
  for (const std::string& line : estimates_of(statements, setup).assumptions) text += line + "\n";
  return text;
}

bool is_usable(const dispatch::FormEstimates& estimates) {
  return std::isfinite(estimates.one_workgroup_ns) && std::isfinite(estimates.resident_ns) &&
         estimates.one_workgroup_ns > 0 && estimates.resident_ns > 0;
}

// {0}: trips of a loop that only computes.
std::string compute_loop(std::uint32_t trips) {
  return fmt::format("let h = x[i]; loop k in 0..{} {{ h = h * 3 + k; }} gridsync; x[i] = h;",
                     trips);
}
std::string barrier_loop(std::uint32_t count) {
  return fmt::format("loop k in 0..{} {{ x[i] = x[i] + 1; gridsync; }}", count);
}

}  // namespace

TEST_CASE("work: operations, accesses, atomics and barriers of one invocation") {
  CHECK(work_of("x[i] = x[i] + 1;") == "1 operations, 2 accesses, 0 atomics, 0 trips");
  CHECK(work_of("atomic_add(x[0], i);") == "0 operations, 0 accesses, 1 atomics, 0 trips");
  CHECK(work_of("x[i] = 1; barrier; x[0] = 2;") ==
        "0 operations, 2 accesses, 0 atomics, 0 trips, 1 barriers");
  CHECK(work_of("x[i] = 1; gridsync; x[0] = 2;") ==
        "0 operations, 2 accesses, 0 atomics, 0 trips, 1 grid barriers");
  CHECK(work_of("x[i] = 1; gridsync;") ==
        "0 operations, 1 accesses, 0 atomics, 0 trips, 1 grid barriers, the last at the end");
  CHECK(work_of("loop k in 0..5 { x[i] = k + 1; gridsync; }") ==
        "5 operations, 5 accesses, 0 atomics, 5 trips, 5 grid barriers, the last at the end");
}

TEST_CASE("work: trips follow from literals, lengths, the grid and inputs") {
  const std::vector<std::uint32_t> word{0, 7};
  const auto bytes = std::as_bytes(std::span(word));
  const auto trips = [&](std::string_view bounds, const CostSetup& setup = {}) {
    const std::string work =
        work_of(fmt::format("loop k in {} {{ atomic_add(x[0], k); }}", bounds), setup);
    return work.substr(0, work.find(" atomics"))
        .substr(work.rfind(", ", work.find(" atomics")) + 2);
  };
  CHECK(trips("3..10") == "7");
  CHECK(trips("10..3") == "0");
  CHECK(trips("0..len(n)", {.lengths = {1, 40, 1}}) == "40");
  CHECK(trips("0..num_workgroups.x * 2", {.grid = {9, 1, 1}}) == "18");
  CHECK(trips("0..u[1]", {.contents = {{}, {}, bytes}}) == "7");
  CHECK(trips("0..n[1]", {.contents = {{}, bytes, {}}}) == "7");
  CHECK(trips("0..u[2]", {.contents = {{}, {}, bytes}}) == "16");  // past the end: not known
  CHECK(trips("0..u[1]") == "16");
  CHECK(trips("0..x[0]", {.contents = {bytes, {}, {}}}) == "16");  // it may change
  // In the middle of the grid and of the workgroup.
  CHECK(trips("0..i", {.grid = {16, 1, 1}}) == "512");
  CHECK(trips("0..local.x") == "32");
  CHECK(trips("i * 4..i * 4 + 4") == "4");
}

TEST_CASE("work: an inner loop is counted at the middle of the outer one") {
  CHECK(work_of("loop a in 0..10 { loop b in 0..a { atomic_add(x[0], b); } }") ==
        "0 operations, 0 accesses, 50 atomics, 60 trips");
}

TEST_CASE("work: lists of neighbours share the elements of their buffer") {
  // 1024 invocations.
  const std::string list = "loop k in n[i]..n[i + 1] { x[i] = x[i] + n[k]; }";
  CHECK(work_of(list, {.lengths = {1, 8192, 1}}) ==
        "9 operations, 26 accesses, 0 atomics, 8 trips");
  CHECK(work_of(list, {.lengths = {1, 10, 1}}) == "2 operations, 5 accesses, 0 atomics, 1 trips");
}

TEST_CASE("work: conditions that the host knows select an arm, others take both") {
  CHECK(work_of("if len(n) > 5 { x[i] = 1; } else { x[i] = x[i]; }", {.lengths = {1, 6, 1}}) ==
        "1 operations, 1 accesses, 0 atomics, 0 trips");
  CHECK(work_of("if len(n) > 5 { x[i] = 1; } else { x[i] = x[i]; }", {.lengths = {1, 5, 1}}) ==
        "1 operations, 2 accesses, 0 atomics, 0 trips");
  CHECK(work_of("if n[i] > 5 { x[i] = 1; } else { x[i] = x[i]; }") ==
        "1 operations, 4 accesses, 0 atomics, 0 trips");
  // Half of the lanes take it, and a subgroup does atomics lane by lane.
  CHECK(work_of("if n[i] > 5 { atomic_add(x[0], 1); }") ==
        "1 operations, 1 accesses, 0.5 atomics, 0 trips");
}

TEST_CASE("work: a value that lives across a barrier is kept, unless it can be computed again") {
  CHECK(work_of("let v = x[i]; gridsync; x[i] = v;") ==
        "0 operations, 2 accesses, 0 atomics, 0 trips, 1 grid barriers, 1 kept");
  CHECK(work_of("let v = i * 3; gridsync; x[i] = v;") ==
        "1 operations, 1 accesses, 0 atomics, 0 trips, 1 grid barriers");
  CHECK(work_of("loop k in 0..4 { let v = x[i]; gridsync; x[i] = v; gridsync; }") ==
        "0 operations, 8 accesses, 0 atomics, 4 trips, 8 grid barriers, the last at the end, 4 "
        "kept");
}

TEST_CASE("work: control flow around barriers that only the device knows") {
  CHECK(work_of("loop k in 0..n[0] { gridsync; }").find("walked by the device") !=
        std::string::npos);
  CHECK(work_of("if n[0] > 1 { gridsync; }").find("walked by the device") != std::string::npos);
  CHECK(work_of("loop k in 0..len(n) { gridsync; }").find("walked") == std::string::npos);
  CHECK(work_of("loop k in 0..n[0] { x[i] = 1; } gridsync;").find("walked") == std::string::npos);
}

TEST_CASE("estimates: what is emulated costs more") {
  const auto cost = [](std::string_view type, std::string_view value, ir::FloatMode mode,
                       const CostSetup& setup = {}) {
    const auto program = parsed(fmt::format(
        "program p workgroup(64) {{ readwrite x: {}[]; let v = x[0]; x[1] = {}; gridsync; }}", type,
        value));
    return estimates_of(program.with_float_mode(mode), setup).one_workgroup_ns;
  };
  using ir::FloatMode;
  CHECK(cost("f32", "fma(v, v, v)", FloatMode::Exact) >
        cost("f32", "fma(v, v, v)", FloatMode::Fast));
  CHECK(cost("f32", "fma(v, v, v)", FloatMode::Exact) > cost("f32", "v * v + v", FloatMode::Exact));
  CHECK(cost("f32", "sin(v)", FloatMode::Exact) > cost("f32", "v + v", FloatMode::Exact));
  CHECK(cost("u64", "v * v", FloatMode::Exact) > cost("u32", "v * v", FloatMode::Exact));
  CHECK(cost("u64", "v * v", FloatMode::Exact, {.has_int64 = false}) >
        cost("u64", "v * v", FloatMode::Exact));
  CHECK(cost("u32", "v / v", FloatMode::Exact) > cost("u32", "v * v", FloatMode::Exact));
}

TEST_CASE("estimates: the cheaper form, on both sides of where it changes") {
  // Work in each invocation, on a grid of 1024 invocations and two compute units.
  CHECK(cheaper(compute_loop(8)) == "one workgroup");
  CHECK(cheaper(compute_loop(4096)) == "resident");
  // The same work on more units.
  CHECK(cheaper(compute_loop(64), {.compute_units = 1}) == "one workgroup");
  CHECK(cheaper(compute_loop(512), {.compute_units = 1}) == "resident");
  CHECK(cheaper(compute_loop(24), {.compute_units = 16}) == "one workgroup");
  CHECK(cheaper(compute_loop(48), {.compute_units = 16}) == "resident");
  // One invocation has nothing to share.
  CHECK(cheaper(compute_loop(64), {.grid = {1, 1, 1}}) == "one workgroup");
  // Barriers cost a dispatch each where they cut the program.
  CHECK(cheaper(compute_loop(512)) == "resident");
  CHECK(cheaper(compute_loop(512) + barrier_loop(16)) == "one workgroup");
  // Narrow and long, wide and short.
  CHECK(cheaper("x[i] = x[i] / 2;", {.grid = {1, 1, 1}, .iterations = 10000}) == "one workgroup");
  CHECK(cheaper("loop k in 0..1000 { x[i] = x[i] / 2; }", {.grid = {128, 1, 1}, .iterations = 2}) ==
        "resident");
}

TEST_CASE("estimates: more work costs more in both forms, in whatever it consists") {
  const std::vector<std::string> growing[] = {
      {compute_loop(1), compute_loop(10), compute_loop(1000), compute_loop(UINT32_MAX)},
      {barrier_loop(1), barrier_loop(2), barrier_loop(300)},
      {"x[i] = 1; gridsync;", "x[i] = x[i]; gridsync;", "x[i] = x[i] + n[i]; gridsync;"},
      {"gridsync;", "atomic_add(x[0], 1); gridsync;",
       "atomic_add(x[0], 1); atomic_add(x[1], 1); gridsync;"},
  };
  for (const auto& programs : growing) {
    for (std::size_t k = 1; k < programs.size(); ++k) {
      CAPTURE(programs[k]);
      const auto less = estimates_of(programs[k - 1]);
      const auto more = estimates_of(programs[k]);
      CHECK(more.one_workgroup_ns > less.one_workgroup_ns);
      CHECK(more.resident_ns > less.resident_ns);
    }
  }
  for (std::uint32_t groups = 1; groups < 1u << 20; groups *= 4) {
    CAPTURE(groups);
    const auto less = estimates_of(compute_loop(10), {.grid = {groups, 1, 1}});
    const auto more = estimates_of(compute_loop(10), {.grid = {groups * 4, 1, 1}});
    CHECK(more.one_workgroup_ns > less.one_workgroup_ns);
    CHECK(more.resident_ns > less.resident_ns);
  }
  for (std::uint32_t iterations = 1; iterations < 1u << 20; iterations *= 4) {
    CAPTURE(iterations);
    const auto less = estimates_of(compute_loop(10), {.iterations = iterations});
    const auto more = estimates_of(compute_loop(10), {.iterations = iterations * 4});
    CHECK(more.one_workgroup_ns > less.one_workgroup_ns);
    CHECK(more.resident_ns > less.resident_ns);
  }
}

TEST_CASE("estimates: more compute units make segments cheaper, and one workgroup stays") {
  for (std::uint32_t units = 1; units < 16; units *= 2) {
    CAPTURE(units);
    const auto few = estimates_of(compute_loop(100), {.compute_units = units});
    const auto many = estimates_of(compute_loop(100), {.compute_units = units * 2});
    CHECK(many.resident_ns < few.resident_ns);
    CHECK(many.one_workgroup_ns == few.one_workgroup_ns);
  }
  // No more than there are workgroups.
  CHECK(estimates_of(compute_loop(100), {.compute_units = 16}) ==
        estimates_of(compute_loop(100), {.compute_units = 64}));
}

TEST_CASE("estimates: iterations that are recorded cost a little where they are skipped") {
  const auto bounded = [](std::uint32_t bound, bool conditional = true) {
    return estimates_of("x[i] = x[i] / 2;", {.iterations = bound,
                                             .convergence = Convergence::Kind::Automatic,
                                             .conditional_steps = conditional});
  };
  CHECK(bounded(16).iterations == 16);
  CHECK(bounded(17).iterations == 16);
  CHECK(bounded(15).iterations == 15);
  CHECK(bounded(100).resident_ns > bounded(16).resident_ns);
  CHECK(bounded(100).one_workgroup_ns == bounded(16).one_workgroup_ns);
  // Without conditional steps a small kernel opens each iteration.
  CHECK(bounded(16, false).resident_ns > bounded(16).resident_ns);
}

TEST_CASE("estimates: what they assume") {
  CHECK(assumptions_of(compute_loop(10)) == "");
  CHECK(assumptions_of("loop k in 0..n[0] { gridsync; } loop k in 0..n[1] { x[i] = k; }") ==
        "A loop whose bounds are not known takes 16 trips.\n");
  CHECK(assumptions_of("loop k in n[i]..n[i + 1] { x[i] = n[k]; }") ==
        "A loop over a part of a buffer takes its share of the elements, one at least.\n");
  const CostSetup automatic{.iterations = 100, .convergence = Convergence::Kind::Automatic};
  CHECK(assumptions_of("x[i] = 1;", automatic) == "The fixpoint ends after 16 iterations.\n");
  CHECK(assumptions_of("x[i] = 1;", {.iterations = 100}) == "");
}

TEST_CASE("estimates: whatever the sizes, they are finite and above 0") {
  const std::string deep =
      "loop a in 0..4294967295 { loop b in 0..4294967295 { loop c in 0..4294967295 { loop d in "
      "0..4294967295 { x[i] = x[i] * 3; gridsync; atomic_add(x[0], d); } } } }";
  for (const Extent3& grid :
       {Extent3{0, 0, 0}, Extent3{1, 1, 1}, Extent3{UINT32_MAX, UINT32_MAX, UINT32_MAX}}) {
    for (const std::uint32_t iterations : {1u, 2u, UINT32_MAX}) {
      for (const std::uint32_t units : {0u, 1u, UINT32_MAX}) {
        for (const auto kind : {Convergence::Kind::None, Convergence::Kind::Automatic}) {
          const CostSetup setup{.grid = grid,
                                .iterations = iterations,
                                .convergence = kind,
                                .compute_units = units,
                                .lengths = {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
          CHECK(is_usable(estimates_of(deep, setup)));
          CHECK(is_usable(estimates_of("loop k in n[i]..n[i + 1] { x[0] = n[k]; }", setup)));
        }
      }
    }
  }
  DeviceProfile nothing;  // states no limits
  CHECK(is_usable(
      dispatch::estimate_forms(valid_program(costed_text(deep)), {}, {1, 1, 1}, nothing, {})));
}

TEST_CASE("estimates: generated programs have them, the same each time") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    ProgramGenerator generator(seed, ProgramGenerator::Kind::GridSync);
    const ir::ValidProgram program = valid_program(generator.text());
    const Extent3 grid = generator.grid();
    const DeviceProfile device = costed_device({});
    const auto once = dispatch::estimate_forms(program, generator.config(), grid, device, {});
    CHECK(is_usable(once));
    CHECK(once == dispatch::estimate_forms(program, generator.config(), grid, device, {}));
  }
}
