// Every field of the configuration means the same on every path that takes it: a table of fields,
// each run on each path. What only the device knows is compared with a plain dispatch.
#include <chrono>

#include "conformance/conformance.h"
#include "felsite/trace.h"
#include "support/difference.h"
#include "support/dispatch_paths.h"

using namespace felsite;
using namespace felsite::test;
using namespace std::chrono_literals;

namespace {

using Results = std::vector<Words>;

struct Row {
  const char* field;
  const char* text;
  std::vector<Words> inputs{};
  DispatchConfig config{};
  Results outputs{};
  std::optional<std::uint32_t> iterations{};
  std::optional<bool> converged{};
  std::optional<ErrorCode> error{};
  // What has the field. A block asks for a flag that its steps write, and its grid counts it.
  Takes needs = Takes::Step;
};

DispatchConfig with(auto change) {
  DispatchConfig config;
  change(config);
  return config;
}

Convergence flag(const char* name) { return {Convergence::Kind::Flag, name}; }

const char* const kCountAll =
    "program count workgroup(4) { readonly x: u32[]; output n: u32[1]; atomic_add(n[0], 1); }";
const char* const kImage =
    "program image workgroup(2, 2) { readonly x: u32[]; output n: u32[1]; atomic_add(n[0], 1); }";
const char* const kExtents =
    "program extents workgroup(4) { output o: u32[4]; o[0] = num_workgroups.x;"
    " o[1] = num_workgroups.y; o[2] = workgroup_size.x; o[3] = workgroup_size.y; }";
// The quotient is below the smallest normal number: exact floats flush it, fast ones may not.
const char* const kFast =
    "program quick workgroup(1) fast { readonly x: f32[1]; output o: f32[1]; o[0] = x[0] / 4.0; }";
const char* const kFastInSegments =
    "program quick workgroup(1) fast { readonly x: f32[1]; output o: f32[1]; let y = x[0] / 4.0;"
    " gridsync; o[0] = y; }";
constexpr std::uint32_t kSmallest = 0x0080'0000;  // 2^-126
// What the flag holds at the start shows in x.
const char* const kReadsFlag =
    "program reads_flag workgroup(1) { readwrite x: u32[1]; readwrite f: u32[1];"
    " x[0] = f[0] + 10; }";
const char* const kSetsFlag =
    "program sets_flag workgroup(1) { readwrite x: u32[1]; readwrite f: u32[1];"
    " x[0] = f[0] + 10; f[0] = 1; }";
const char* const kReadsFlagInSegments =
    "program reads_flag workgroup(1) { readwrite x: u32[1]; readwrite f: u32[1];"
    " let before = f[0]; gridsync; x[0] = before + 10; }";
// Counts down to zero, one an iteration.
const char* const kCountdown =
    "program countdown workgroup(4) { readwrite x: u32[]; readwrite f: u32[1];"
    " let i = invocation.x; if i < len(x) && x[i] > 0 { x[i] = x[i] - 1; f[0] = 1; } }";
// The flag is the largest buffer: it would ask for a larger grid than what counts.
const char* const kLargeFlag =
    "program large_flag workgroup(4) { readwrite x: u32[4]; readwrite f: u32[]; output n: u32[1];"
    " atomic_add(n[0], 1); x[0] = 1; }";

// g++ 12 does not follow which members of a row exist where making the next one throws.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
std::vector<Row> rows() {
  std::vector<Row> all;
  // Grids.
  all.push_back({.field = "grid_override",
                 .text = kExtents,
                 .config = with([](auto& c) {
                   c.grid_override = {3, 2, 1};
                 }),
                 .outputs = {{3, 2, 4, 1}}});
  all.push_back({.field = "no grid", .text = kCountAll, .inputs = {Words(10)}, .outputs = {{12}}});
  all.push_back({.field = "no grid, and a flag",
                 .text = kLargeFlag,
                 .inputs = {Words(4), Words(40)},
                 .config = with([](auto& c) { c.convergence = flag("f"); }),
                 .outputs = {{1, 0, 0, 0}, Words(40), {4}},
                 .converged = true,
                 .needs = Takes::Everything});
  all.push_back({.field = "no grid, several axes",
                 .text = kImage,
                 .inputs = {Words(10)},
                 .error = ErrorCode::BadInputs});
  all.push_back({.field = "a grid, several axes",
                 .text = kImage,
                 .inputs = {Words(10)},
                 .config = with([](auto& c) {
                   c.grid_override = {3, 1, 1};
                 }),
                 .outputs = {{12}}});
  // Workgroups.
  all.push_back({.field = "workgroup_override",
                 .text = kExtents,
                 .config = with([](auto& c) {
                   c.workgroup_override = {2, 3, 1};
                   c.grid_override = {1, 1, 1};
                 }),
                 .outputs = {{1, 1, 2, 3}}});
  all.push_back({.field = "workgroup_override decides the axes",
                 .text = kImage,
                 .inputs = {Words(10)},
                 .config = with([](auto& c) {
                   c.workgroup_override = {1, 8, 1};
                 }),
                 .outputs = {{16}}});
  all.push_back({.field = "workgroup_override of none",
                 .text = kExtents,
                 .config = with([](auto& c) {
                   c.workgroup_override = {0, 1, 1};
                 }),
                 .error = ErrorCode::InvalidProgram});
  // Floats.
  const DispatchConfig exact = with([](auto& c) { c.float_mode = ir::FloatMode::Exact; });
  all.push_back({.field = "float_mode",
                 .text = kFast,
                 .inputs = {{kSmallest}},
                 .config = exact,
                 .outputs = {{0}}});
  all.push_back({.field = "float_mode in segments",
                 .text = kFastInSegments,
                 .inputs = {{kSmallest}},
                 .config = exact,
                 .outputs = {{0}}});
  DispatchConfig exact_iterations = exact;
  exact_iterations.fixpoint_iterations = 2;
  all.push_back({.field = "float_mode in iterations",
                 .text = kFast,
                 .inputs = {{kSmallest}},
                 .config = exact_iterations,
                 .outputs = {{0}},
                 .needs = Takes::Block});
  // Iterations and convergence.
  const auto iterations = [](std::uint32_t bound, Convergence convergence) {
    return with([&](auto& c) {
      c.fixpoint_iterations = bound;
      c.convergence = std::move(convergence);
    });
  };
  const Convergence none{Convergence::Kind::None, ""};
  all.push_back({.field = "fixpoint_iterations of 0",
                 .text = kCountdown,
                 .inputs = {{3, 1}, {9}},
                 .config = iterations(0, {}),
                 .error = ErrorCode::BadInputs,
                 .needs = Takes::Block});
  all.push_back({.field = "automatic convergence",
                 .text = kCountdown,
                 .inputs = {{3, 1}, {9}},
                 .config = iterations(20, {}),
                 .outputs = {{0, 0}, {1}},
                 .iterations = 4,
                 .converged = true,
                 .needs = Takes::Block});
  all.push_back({.field = "automatic convergence, bounded",
                 .text = kCountdown,
                 .inputs = {{3, 1}, {9}},
                 .config = iterations(2, {}),
                 .outputs = {{1, 0}, {1}},
                 .iterations = 2,
                 .converged = false,
                 .needs = Takes::Block});
  all.push_back({.field = "no convergence",
                 .text = kCountdown,
                 .inputs = {{3, 1}, {9}},
                 .config = iterations(6, none),
                 .outputs = {{0, 0}, {1}},
                 .iterations = 6,
                 .converged = false,
                 .needs = Takes::Block});
  all.push_back({.field = "a flag",
                 .text = kCountdown,
                 .inputs = {{3, 1}, {9}},
                 .config = iterations(20, flag("f")),
                 .outputs = {{0, 0}, {0}},
                 .iterations = 4,
                 .converged = true,
                 .needs = Takes::Block});
  all.push_back({.field = "a flag, one iteration",
                 .text = kReadsFlag,
                 .inputs = {{1}, {5}},
                 .config = with([](auto& c) { c.convergence = flag("f"); }),
                 .outputs = {{10}, {0}},
                 .iterations = 1,
                 .converged = true,
                 .needs = Takes::Everything});
  all.push_back({.field = "a flag that is set, one iteration",
                 .text = kSetsFlag,
                 .inputs = {{1}, {5}},
                 .config = iterations(1, flag("f")),
                 .outputs = {{10}, {1}},
                 .iterations = 1,
                 .converged = false,
                 .needs = Takes::Block});
  all.push_back({.field = "a flag, one iteration in segments",
                 .text = kReadsFlagInSegments,
                 .inputs = {{1}, {5}},
                 .config = iterations(1, flag("f")),
                 .outputs = {{10}, {0}},
                 .iterations = 1,
                 .converged = true,
                 .needs = Takes::Everything});
  all.push_back({.field = "a flag that is no buffer",
                 .text = kReadsFlag,
                 .inputs = {{1}, {5}},
                 .config = iterations(1, flag("g")),
                 .error = ErrorCode::BadInputs,
                 .needs = Takes::Everything});
  // Limits.
  all.push_back({.field = "timeout of no time",
                 .text = kCountAll,
                 .inputs = {Words(4)},
                 .config = with([](auto& c) { c.timeout = 0ns; }),
                 .error = ErrorCode::Timeout});
  all.push_back({.field = "timeout of the least time there is, of segments",
                 .text = kReadsFlagInSegments,
                 .inputs = {{1}, {5}},
                 .config = with([](auto& c) { c.timeout = std::chrono::nanoseconds::min(); }),
                 .error = ErrorCode::Timeout});
  all.push_back({.field = "timeout",
                 .text = kCountAll,
                 .inputs = {Words(4)},
                 .config = with([](auto& c) { c.timeout = 1h; }),
                 .outputs = {{4}}});
  all.push_back({.field = "max_output_bytes",
                 .text = kReadsFlag,
                 .inputs = {{1}, {5}},
                 .config = with([](auto& c) { c.max_output_bytes = 8; }),
                 .outputs = {{15}, {5}}});
  all.push_back({.field = "max_output_bytes, one less",
                 .text = kReadsFlag,
                 .inputs = {{1}, {5}},
                 .config = with([](auto& c) { c.max_output_bytes = 7; }),
                 .error = ErrorCode::BadInputs});
  DispatchConfig limited = iterations(3, {});
  limited.max_output_bytes = 7;
  all.push_back({.field = "max_output_bytes of iterations",
                 .text = kReadsFlag,
                 .inputs = {{1}, {5}},
                 .config = limited,
                 .error = ErrorCode::BadInputs,
                 .needs = Takes::Block});
  return all;
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

std::vector<Bytes> bytes_of_all(const std::vector<Words>& words) {
  std::vector<Bytes> all;
  for (const Words& one : words) all.push_back(bytes_of(one));
  return all;
}

Result<PathRun> run_on(const PathName& path, const char* text, const std::vector<Words>& inputs,
                       const DispatchConfig& config) {
  const std::vector<Bytes> bytes = bytes_of_all(inputs);
  return run_path(path.path, tested(), valid_program(text), spans_of(bytes), config);
}

}  // namespace

TEST_CASE("every field of the configuration means the same on every path") {
  for (const Row& row : rows()) {
    CAPTURE(row.field);
    for (const PathName& path : kPaths) {
      if (path.takes < row.needs) continue;
      CAPTURE(path.name);
      const auto run = run_on(path, row.text, row.inputs, row.config);
      if (row.error) {
        CHECK_FALSE(run.has_value());
        if (run) continue;
        CHECK(run.error().code == *row.error);
        CHECK_FALSE(run.error().fix.empty());
        // A submission that has no time has none for any of its steps, nor is a bound a step's.
        const bool of_submission = path.is_submitted() && (row.error == ErrorCode::Timeout ||
                                                           row.config.fixpoint_iterations == 0u);
        if (!of_submission) {
          CHECK(run.error().context.program == valid_program(row.text).name());
        }
        continue;
      }
      CHECK_MESSAGE(run.has_value(), to_string(run.error()));
      if (!run) continue;
      CHECK(difference(valid_program(row.text), bytes_of_all(row.outputs), run->outputs) == "");
      if (path.path == Path::Batched) continue;  // has no timing
      if (row.iterations) CHECK(run->timing.iterations_run == *row.iterations);
      if (row.converged) CHECK(run->timing.converged == *row.converged);
    }
  }
}

TEST_CASE("an unknown enum value is refused on every path, whatever the program") {
  const DispatchConfig none_of_them[] = {
      with([](auto& c) { c.grid_sync = static_cast<GridSync>(77); }),
      with([](auto& c) { c.grid_sync = static_cast<GridSync>(4); }),
      with([](auto& c) { c.convergence.kind = static_cast<Convergence::Kind>(77); }),
      with([](auto& c) { c.convergence.kind = static_cast<Convergence::Kind>(3); }),
      with([](auto& c) { c.float_mode = static_cast<ir::FloatMode>(77); }),
      with([](auto& c) { c.float_mode = static_cast<ir::FloatMode>(2); }),
  };
  for (const DispatchConfig& config : none_of_them) {
    CAPTURE(static_cast<int>(config.grid_sync));
    CAPTURE(static_cast<int>(config.convergence.kind));
    CAPTURE(config.float_mode.has_value());
    for (const char* text : {kReadsFlag, kReadsFlagInSegments}) {
      for (const PathName& path : kPaths) {
        if (path.is_submitted() && !config.float_mode) continue;
        CAPTURE(path.name);
        for (const std::optional<std::uint32_t> iterations :
             {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(2)}) {
          DispatchConfig asked = config;
          asked.fixpoint_iterations = iterations;
          const auto run = run_on(path, text, {{1}, {5}}, asked);
          CHECK_FALSE(run.has_value());
          if (run) continue;
          CHECK_MESSAGE(run.error().code == ErrorCode::BadInputs, to_string(run.error()));
          CHECK_FALSE(run.error().fix.empty());
          CHECK(run.error().context.program == "reads_flag");
        }
      }
    }
    CHECK(code_of(tested().prepare(valid_program(kReadsFlag), config)) == ErrorCode::BadInputs);
  }
}

TEST_CASE("a grid that would take years is refused on every path") {
  // Should it not be, the timeout ends it.
  DispatchConfig config = with([](auto& c) { c.timeout = 200ms; });
  const char* const plain = "program long_one workgroup(1) { readwrite x: u32[1]; x[0] = 1; }";
  const char* const segments =
      "program long_one workgroup(1) { readwrite x: u32[1]; gridsync; x[0] = 1; }";
  for (const char* text : {plain, segments}) {
    CAPTURE(text);
    for (const Extent3& grid :
         {std::array{UINT32_MAX, UINT32_MAX, UINT32_MAX}, std::array{1u, UINT32_MAX, 65537u},
          std::array{65536u, 65536u, 65537u}}) {
      config.grid_override = grid;
      for (const std::optional<std::uint32_t> iterations :
           {std::optional<std::uint32_t>(), std::optional<std::uint32_t>(3)}) {
        config.fixpoint_iterations = iterations;
        for (const PathName& path : kPaths) {
          CAPTURE(path.name);
          const auto run = run_on(path, text, {{7}}, config);
          CHECK_FALSE(run.has_value());
          if (run) continue;
          CHECK_MESSAGE(run.error().code == ErrorCode::UnsupportedFeature, to_string(run.error()));
          CHECK(run.error().message.find("workgroups is too large") != std::string::npos);
          CHECK_FALSE(run.error().fix.empty());
          CHECK(run.error().context.program == "long_one");
          CHECK_FALSE(run.error().context.device.empty());
          CHECK(run.error().context.available == std::uint64_t{1} << 48);
        }
      }
    }
  }
  // The words of a buffer may ask for it too.
  config.grid_override.reset();
  config.fixpoint_iterations.reset();
  const char* const indirect =
      "program long_one workgroup(1) { readonly g: u32[3]; readwrite x: u32[1];"
      " indirect_dispatch(g[0]); x[0] = 1; }";
  for (const PathName& path : kPaths) {
    CAPTURE(path.name);
    const auto run = run_on(path, indirect, {{UINT32_MAX, UINT32_MAX, 9}, {7}}, config);
    CHECK(code_of(run) == ErrorCode::UnsupportedFeature);
  }
}

TEST_CASE("a dispatch under way is refused at its start for a grid that would take years") {
  const Bytes x = bytes_of(Words{7});
  const ByteSpan input = x;
  DispatchConfig config = on_grid(UINT32_MAX, UINT32_MAX, UINT32_MAX);
  config.timeout = 200ms;
  const auto pending = tested().dispatch_borrowed_async(
      valid_program("program p workgroup(1) { readwrite x: u32[1]; x[0] = 1; }"), {&input, 1},
      config);
  CHECK(code_of(pending) == ErrorCode::UnsupportedFeature);
}

TEST_CASE(
    "fast floats that the configuration asks for are those of a plain dispatch on every path") {
  const char* const text =
      "program p workgroup(1) { readonly x: f32[1]; output o: f32[1]; o[0] = x[0] / 4.0; }";
  DispatchConfig config;
  config.float_mode = ir::FloatMode::Fast;
  const auto plain = run_on(kPaths[0], text, {{kSmallest}}, config);
  REQUIRE(plain.has_value());
  for (const PathName& path : kPaths) {
    CAPTURE(path.name);
    const auto run = run_on(path, text, {{kSmallest}}, config);
    REQUIRE_MESSAGE(run.has_value(), to_string(run.error()));
    CHECK(run->outputs == plain->outputs);
  }
}

TEST_CASE("steps that differ in their floats alone do not share a recording") {
  const OnDevice x(Words{kSmallest});
  const OnDevice o(Words{77});
  ResidentStep step = test::step(kFast, {x.handle(), o.handle()});
  std::vector<Bytes> nothing;
  const auto bits = [&](std::optional<ir::FloatMode> mode) {
    step.float_mode = mode;
    must(tested().submit_resident({.prefix = {&step, 1}}, nothing));
    return o.words();
  };
  const Words fast = bits(std::nullopt);
  CHECK(bits(ir::FloatMode::Exact) == Words{0});
  CHECK(bits(std::nullopt) == fast);
  CHECK(bits(ir::FloatMode::Exact) == Words{0});
  CHECK(bits(ir::FloatMode::Fast) == fast);
}

TEST_CASE("a form of grid barriers is taken or refused alike on every path") {
  struct Case {
    const char* text;
    bool needs_form;
  };
  const Case cases[] = {
      {"program p workgroup(1) { readwrite x: u32[1]; let y = x[0]; gridsync; x[0] = y + 1; }",
       true},
      // Without barriers and iterations there is nothing to put in a form.
      {"program p workgroup(1) { readwrite x: u32[1]; x[0] = x[0] + 1; }", false}};
  for (const Case& one : cases) {
    CAPTURE(one.text);
    for (const GridSync form :
         {GridSync::Automatic, GridSync::HostSplit, GridSync::Resident, GridSync::OneWorkgroup}) {
      DispatchConfig config = on_grid(1);
      config.grid_sync = form;
      for (const PathName& path : kPaths) {
        if (path.is_submitted()) continue;
        CAPTURE(path.name);
        CAPTURE(static_cast<int>(form));
        const auto run = run_on(path, one.text, {{41}}, config);
        // A device with grid barriers has beside them the host split, which works on the caller's
        // bytes alone.
        const bool on_device = form == GridSync::Resident || form == GridSync::OneWorkgroup;
        const bool is_refused =
            one.needs_form && ((on_device && has_grid_barriers()) ||
                               (form == GridSync::HostSplit && path.on_resident_buffers()));
        if (is_refused) {
          CHECK(code_of(run) == ErrorCode::UnsupportedFeature);
          continue;
        }
        REQUIRE_MESSAGE(run.has_value(), to_string(run.error()));
        CHECK(words_of(run->outputs[0]) == Words{42});
      }
    }
  }
}

TEST_CASE("a cooperative grid is of devices with grid barriers alone") {
  for (const char* text :
       {"program p workgroup(1) { readwrite x: u32[1]; let y = x[0]; gridsync; x[0] = y + 1; }",
        "program p workgroup(1) { readwrite x: u32[1]; x[0] = x[0] + 1; }"}) {
    DispatchConfig config = on_grid(1);
    config.cooperative = true;
    for (const PathName& path : kPaths) {
      if (path.is_submitted()) continue;
      CAPTURE(path.name);
      const auto run = run_on(path, text, {{41}}, config);
      if (!has_grid_barriers()) {
        CHECK(code_of(run) == ErrorCode::UnsupportedFeature);
        continue;
      }
      REQUIRE_MESSAGE(run.has_value(), to_string(run.error()));
      CHECK(words_of(run->outputs[0]) == Words{42});
    }
  }
}

TEST_CASE("a label names the work in a trace on every path, also where it was recorded before") {
  for (const PathName& path : kPaths) {
    CAPTURE(path.name);
    for (const char* label : {"the first label", "the second label"}) {
      DispatchConfig config;
      config.label = label;
      start_trace();
      const auto run = run_on(path, kCountAll, {Words(4)}, config);
      const std::string trace = stop_trace();
      REQUIRE_MESSAGE(run.has_value(), to_string(run.error()));
      CHECK(trace.find(label) != std::string::npos);
    }
  }
}

TEST_CASE("the device's time is measured where it is asked for, on every path") {
  DispatchConfig config;
  config.profile = true;
  const auto plain = run_on(kPaths[0], kCountAll, {Words(4)}, config);
  REQUIRE(plain.has_value());
  const bool has_clock = plain->timing.device_ns.has_value();
  CHECK(has_clock == has_device_clock());
  for (const PathName& path : kPaths) {
    if (path.path == Path::Batched) continue;  // has no timing
    CAPTURE(path.name);
    const auto measured = run_on(path, kCountAll, {Words(4)}, config);
    REQUIRE(measured.has_value());
    CHECK(measured->timing.wall_ns.has_value());
    CHECK(measured->timing.device_ns.has_value() == has_clock);
    // These measure by themselves.
    const bool always = path.path == Path::Timed || path.path == Path::Resident ||
                        path.path == Path::DeviceBuffers || path.path == Path::Ranges ||
                        path.path == Path::Lent;
    const auto other = run_on(path, kCountAll, {Words(4)}, {});
    REQUIRE(other.has_value());
    CHECK(other->timing.device_ns.has_value() == (always && has_clock));
  }
}
