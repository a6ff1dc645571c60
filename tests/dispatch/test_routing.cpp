// In which form a program with grid barriers or iterations runs, and why.
#include <fmt/format.h>

#include "dispatch/cut/change_reports.h"
#include "dispatch/schedule/routing.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Every answer of the router.
constexpr const char* kPlain = "plain: There is one iteration without a grid barrier.";
constexpr const char* kSplitAsked = "host split: It was asked for.";
constexpr const char* kResidentAsked = "resident: It was asked for.";
constexpr const char* kOneAsked = "one workgroup: It was asked for.";
constexpr const char* kNative = "native: The backend has native grid barriers.";
constexpr const char* kOwnGrid =
    "resident: Each iteration has a grid of its own, which the device reads.";
constexpr const char* kOwnGridInSegments =
    "resident: Each iteration has a grid of its own, which the host reads.";
constexpr const char* kEmptyGrid =
    "resident: The grid is empty: there is nothing to fold into one workgroup.";
constexpr const char* kManyBarriers =
    "resident: So many grid barriers in one kernel would take the driver long to compile.";
constexpr const char* kOverBudget =
    "resident: One workgroup could exceed the driver's loop budget; each segment starts with a "
    "fresh one.";
constexpr const char* kFits =
    "one workgroup: One workgroup is estimated to be faster than segments.";
constexpr const char* kAttempt =
    "one workgroup: One workgroup is estimated to be faster than segments; should its loops exceed "
    "the "
    "driver's budget, it runs again in segments.";
constexpr const char* kSegments =
    "resident: Segments are estimated to be faster than one workgroup.";
constexpr const char* kManyBuffers =
    "resident: One kernel would have more storage buffers than the device allows; each segment has "
    "fewer.";
constexpr const char* kNoCooperation =
    "error: A cooperative dispatch needs a barrier of the whole grid, which the device lacks.";
constexpr const char* kNativeOnly =
    "error: This backend has native grid barriers, and no other form on the device.";
constexpr const char* kOwnGridAsked =
    "error: Each iteration has a grid of its own, which may be too large for one workgroup.";
constexpr const char* kNoSplit = "error: This backend does not allow the host split.";

// Obstacles to one workgroup.
constexpr const char* kCopies =
    "a collective copies for all invocations, also for those that have returned";
constexpr const char* kMemory = "each of several workgroups has its own memory";
constexpr const char* kBarriers = "each of several workgroups has its own barriers";
constexpr const char* kSubgroups = "each of several workgroups has its own subgroups";

std::string resident_because(std::string_view obstacle) {
  return fmt::format("resident: Buffers stay on the device; not one workgroup: {}.", obstacle);
}
std::string refused_because(std::string_view obstacle) {
  return fmt::format("error: The grid cannot run as one workgroup: {}.", obstacle);
}

// A workgroup of the device has 128 invocations, each lane of it up to 8 of the program's.
struct RoutingCase {
  Extent3 grid{1, 1, 1};
  GridSync asked = GridSync::Automatic;
  std::optional<std::uint32_t> iterations{};
  Convergence::Kind convergence = Convergence::Kind::Automatic;
  bool cooperative = false;
  bool native = false;  // the backend has grid barriers itself
  std::uint32_t loop_budget = 0;
  bool can_try = false;
  std::vector<std::uint64_t> lengths{};
  std::vector<ByteSpan> contents{};
  std::uint32_t compute_units = 1;
  std::uint32_t storage_buffers = 0;  // 0: unknown
  bool allows_split = true;
};

std::string route_of_program(std::string_view text, const RoutingCase& c = {}) {
  const auto program = valid_program(text);
  DispatchConfig config;
  config.grid_sync = c.asked;
  config.fixpoint_iterations = c.iterations;
  config.convergence.kind = c.convergence;
  config.cooperative = c.cooperative;
  DeviceProfile device;
  device.grid_sync = c.native;
  device.max_workgroup_invocations = 128;
  device.max_workgroup_size = {128, 128, 64};
  device.loop_budget = c.loop_budget;
  device.subgroup_size = 8;
  device.compute_units = c.compute_units;
  device.max_storage_buffers = c.storage_buffers;
  device.allows_host_grid_sync_split = c.allows_split;
  const auto choice =
      dispatch::choose_route(program, config, c.grid, device,
                             {.lengths = c.lengths, .contents = c.contents, .can_try = c.can_try});
  if (!choice) {
    CHECK(choice.error().code == ErrorCode::UnsupportedFeature);
    CHECK(choice.error().context.program == "p");
    CHECK(!choice.error().fix.empty());
    return "error: " + choice.error().message;
  }
  return fmt::format("{}: {}", to_string(choice->route), choice->reason);
}

std::string route_of(std::string_view statements, const RoutingCase& c = {}) {
  return route_of_program(fmt::format("program p workgroup(4) {{ readwrite x: u32[]; readwrite y: "
                                      "u32[]; readonly n: u32[]; {} }}",
                                      statements),
                          c);
}

constexpr const char* kStep = "x[invocation.x] = 1; gridsync; y[invocation.x] = 2;";
constexpr const char* kOneStep = "x[invocation.x] = 1;";

}  // namespace

TEST_CASE("routing: one iteration without grid barriers is a plain dispatch") {
  CHECK(route_of(kOneStep) == kPlain);
  CHECK(route_of(kOneStep, {.iterations = 1}) == kPlain);
  CHECK(route_of(kOneStep, {.asked = GridSync::HostSplit}) == kPlain);
  CHECK(route_of(kOneStep, {.grid = {1 << 20, 1, 1}}) == kPlain);
  CHECK(route_of(kOneStep, {.native = true}) == kPlain);
  CHECK(route_of("barrier; x[0] = 1;") == kPlain);
  CHECK(route_of(kOneStep, {.iterations = 2}) == kFits);
  CHECK(route_of(kStep) == kFits);
  CHECK(route_of("all_reduce.add(x);") == kFits);
}

TEST_CASE("routing: a cooperative dispatch needs native grid barriers") {
  CHECK(route_of(kStep, {.cooperative = true}) == kNoCooperation);
  CHECK(route_of(kOneStep, {.cooperative = true}) == kNoCooperation);
  CHECK(route_of(kStep, {.cooperative = true, .native = true}) == kNative);
}

TEST_CASE("routing: a form that was asked for") {
  CHECK(route_of(kStep, {.asked = GridSync::HostSplit}) == kSplitAsked);
  CHECK(route_of(kStep, {.asked = GridSync::Resident}) == kResidentAsked);
  CHECK(route_of(kStep, {.asked = GridSync::OneWorkgroup}) == kOneAsked);
  CHECK(route_of(kStep, {.grid = {0, 1, 1}, .asked = GridSync::Resident}) == kResidentAsked);
}

TEST_CASE("routing: a backend with grid barriers has them and the host split") {
  CHECK(route_of(kStep, {.native = true}) == kNative);
  CHECK(route_of(kStep, {.grid = {0, 1, 1}, .native = true}) == kNative);
  CHECK(route_of(kStep, {.asked = GridSync::HostSplit, .native = true}) == kSplitAsked);
  CHECK(route_of(kStep, {.asked = GridSync::Resident, .native = true}) == kNativeOnly);
  CHECK(route_of(kStep, {.asked = GridSync::OneWorkgroup, .native = true}) == kNativeOnly);
}

TEST_CASE("routing: a program that changes the grid of its next iteration stays on the device") {
  const std::string changes = "indirect_dispatch(x[0]); x[0] = 2;";
  const std::string segments = changes + " gridsync; y[0] = 1;";
  for (const GridSync asked : {GridSync::Automatic, GridSync::Resident}) {
    CHECK(route_of(changes, {.asked = asked, .iterations = 2}) == kOwnGrid);
    CHECK(route_of(segments, {.asked = asked, .iterations = 2}) == kOwnGridInSegments);
  }
  for (const std::string& text : {changes, segments}) {
    CHECK(route_of(text, {.asked = GridSync::HostSplit, .iterations = 2}) == kSplitAsked);
    CHECK(route_of(text, {.asked = GridSync::OneWorkgroup, .iterations = 2}) == kOwnGridAsked);
    CHECK(route_of(text, {.iterations = 2, .native = true}) == kNative);
  }
  // In one iteration it is read once.
  CHECK(route_of(segments) == kFits);
  CHECK(route_of(segments, {.asked = GridSync::OneWorkgroup, .iterations = 1}) == kOneAsked);
  CHECK(route_of("indirect_dispatch(x[0]); atomic_add(x[0], 1);", {.iterations = 2}) == kOwnGrid);
  CHECK(route_of("indirect_dispatch(n[0]); x[0] = 2;", {.iterations = 2}) == kFits);
}

TEST_CASE("routing: a backend that does not allow the host split takes every other form") {
  for (const bool native : {false, true}) {
    CHECK(
        route_of(kStep, {.asked = GridSync::HostSplit, .native = native, .allows_split = false}) ==
        kNoSplit);
    CHECK(route_of(kOneStep, {.asked = GridSync::HostSplit,
                              .iterations = 2,
                              .native = native,
                              .allows_split = false}) == kNoSplit);
    // There is nothing to split.
    CHECK(route_of(kOneStep,
                   {.asked = GridSync::HostSplit, .native = native, .allows_split = false}) ==
          kPlain);
    CHECK(route_of(kStep, {.asked = GridSync::HostSplit, .native = native}) == kSplitAsked);
  }
  CHECK(route_of(kStep, {.allows_split = false}) == kFits);
  CHECK(route_of(kStep, {.asked = GridSync::Resident, .allows_split = false}) == kResidentAsked);
  CHECK(route_of(kStep, {.asked = GridSync::OneWorkgroup, .allows_split = false}) == kOneAsked);
  CHECK(route_of(kStep, {.native = true, .allows_split = false}) == kNative);
}

TEST_CASE("routing: an empty grid is resident") {
  CHECK(route_of(kStep, {.grid = {0, 1, 1}}) == kEmptyGrid);
  CHECK(route_of(kStep, {.grid = {1, 0, 1}}) == kEmptyGrid);
  CHECK(route_of(kStep, {.grid = {1, 1, 0}}) == kEmptyGrid);
}

TEST_CASE("routing: up to eight invocations to a lane of one workgroup") {
  CHECK(route_of(kStep, {.grid = {256, 1, 1}}) == kFits);  // 1024 invocations
  CHECK(route_of(kStep, {.grid = {257, 1, 1}}) ==
        resident_because("1028 invocations are too many for one workgroup of 128"));
  CHECK(route_of(kStep, {.grid = {257, 1, 1}, .asked = GridSync::OneWorkgroup}) ==
        refused_because("1028 invocations are too many for one workgroup of 128"));
  CHECK(route_of(kStep, {.grid = {4, 8, 8}}) == kFits);
  CHECK(route_of(kStep, {.grid = {4, 8, 9}}) ==
        resident_because("1152 invocations are too many for one workgroup of 128"));
  // One workgroup is one already, whatever it has.
  CHECK(route_of_program("program p workgroup(2048) { readwrite x: u32[]; gridsync; x[0] = 1; }") ==
        kFits);
}

TEST_CASE("routing: what each workgroup has for itself keeps them apart") {
  const RoutingCase two{.grid = {2, 1, 1}};
  const RoutingCase two_asked{.grid = {2, 1, 1}, .asked = GridSync::OneWorkgroup};
  const std::string memory =
      "program p workgroup(4) { readwrite x: u32[]; workgroup t: u32[4]; gridsync; x[0] = t[0]; }";
  CHECK(route_of_program(memory) == kFits);
  CHECK(route_of_program(memory, two) == resident_because(kMemory));
  CHECK(route_of_program(memory, two_asked) == refused_because(kMemory));
  CHECK(route_of("gridsync; barrier;") == kFits);
  CHECK(route_of("gridsync; barrier;", two) == resident_because(kBarriers));
  CHECK(route_of("gridsync; barrier;", two_asked) == refused_because(kBarriers));
  CHECK(route_of("gridsync; x[0] = subgroup_add(1);") == kFits);
  CHECK(route_of("gridsync; x[0] = subgroup_add(1);", two) == resident_because(kSubgroups));
  CHECK(route_of("gridsync; x[0] = subgroup_add(1);", two_asked) == refused_because(kSubgroups));
}

TEST_CASE("routing: a collective that copies is no part of a workgroup's kernel") {
  CHECK(route_of("all_gather(x, y);") == resident_because(kCopies));
  CHECK(route_of("all_gather(x, y);", {.asked = GridSync::OneWorkgroup}) ==
        refused_because(kCopies));
  CHECK(route_of("all_gather(x, x);") == kFits);
}

TEST_CASE("routing: a kernel has 16 grid barriers at most") {
  const auto with_barriers = [](int count, const RoutingCase& c = {}) {
    std::string text;
    for (int k = 0; k < count; ++k) text += "gridsync; x[0] = 1; ";
    return route_of(text, c);
  };
  CHECK(with_barriers(16) == kFits);
  CHECK(with_barriers(17) == kManyBarriers);
  CHECK(with_barriers(17, {.asked = GridSync::OneWorkgroup}) == kOneAsked);
  CHECK(with_barriers(17, {.grid = {1000, 1, 1}}) ==
        resident_because("4000 invocations are too many for one workgroup of 128"));
}

TEST_CASE("routing: loops around grid barriers must fit a sixteenth of the loop budget") {
  const auto around = [](std::string_view bounds, bool can_try) {
    // Also where the loop has no trips there are segments to choose about.
    return route_of(
        fmt::format("loop k in {} {{ x[k] = 1; gridsync; }} y[0] = 1; gridsync; y[1] = 2;", bounds),
        {.loop_budget = 160, .can_try = can_try});
  };
  CHECK(around("0..9", false) == kFits);  // nine trips and the end of the loop
  CHECK(around("0..10", true) == kAttempt);
  CHECK(around("0..10", false) == kOverBudget);
  CHECK(around("0..11", true) == kOverBudget);
  CHECK(around("0..n[0]", true) == kOverBudget);
  CHECK(around("n[0]..9", true) == kOverBudget);
  CHECK(around("9..2", false) == kFits);
  CHECK(route_of("loop k in 0..1000 { x[k] = 1; gridsync; }") == kFits);  // without a budget
}

TEST_CASE("routing: trip counts follow from lengths and the grid") {
  const auto around = [](std::string_view bounds, std::vector<std::uint64_t> lengths) {
    return route_of(
        fmt::format("let m = len(x) / 2; loop k in {} {{ x[k] = 1; gridsync; }}", bounds),
        {.grid = {3, 1, 1}, .loop_budget = 160, .lengths = std::move(lengths)});
  };
  CHECK(around("0..len(x)", {9, 1, 1}) == kFits);
  CHECK(around("0..len(x)", {10, 1, 1}) == kOverBudget);
  CHECK(around("0..m", {19, 1, 1}) == kFits);
  CHECK(around("m..len(x)", {20, 1, 1}) == kOverBudget);
  CHECK(around("0..num_workgroups.x * 3", {1, 1, 1}) == kFits);
  CHECK(around("0..num_workgroups.x * 4", {1, 1, 1}) == kOverBudget);
  CHECK(around("0..len(x)", {}) == kOverBudget);  // the lengths are not known
}

TEST_CASE("routing: trips of loops in each other multiply") {
  const auto nested = [](std::string_view text, bool can_try) {
    return route_of(fmt::format("{} y[0] = 1; gridsync; y[1] = 2;", text),
                    {.loop_budget = 160, .can_try = can_try});
  };
  const std::string six = "loop a in 0..2 { loop b in 0..3 { x[b] = 1; gridsync; } }";
  CHECK(nested(six, false) == kFits);  // (2 + 1) + (2 * 3 + 1)
  const std::string ten = "loop a in 0..2 { loop b in 0..5 { x[b] = 1; gridsync; } }";
  CHECK(nested(ten, true) == kAttempt);  // 3 + 11 in all, 10 around the barrier
  const std::string twelve = "loop a in 0..2 { loop b in 0..6 { x[b] = 1; gridsync; } }";
  CHECK(nested(twelve, true) == kOverBudget);
  CHECK(nested("loop a in 0..n[0] { loop b in 0..2 { x[b] = 1; gridsync; } }", true) ==
        kOverBudget);
  // What stands in a loop without trips does not run.
  CHECK(nested("loop a in 9..2 { loop b in 0..100 { x[b] = 1; gridsync; } }", false) == kFits);
  // One after the other they add up, and the one with the most counts for the barriers.
  CHECK(nested("loop a in 0..4 { gridsync; } loop b in 0..4 { gridsync; }", false) == kFits);
  CHECK(nested("loop a in 0..4 { gridsync; } loop b in 0..5 { gridsync; }", true) == kAttempt);
}

TEST_CASE("routing: loops without grid barriers may exceed the budget, which is an error then") {
  const auto beside = [](std::string_view statements, bool can_try) {
    return route_of(fmt::format("{} gridsync; y[0] = 1;", statements),
                    {.loop_budget = 160, .can_try = can_try});
  };
  CHECK(beside("loop k in 0..9 { x[k] = 1; }", false) == kFits);
  CHECK(beside("loop k in 0..10 { x[k] = 1; }", false) == kOverBudget);
  CHECK(beside("loop k in 0..10 { x[k] = 1; }", true) == kAttempt);
  CHECK(beside("loop k in 0..n[0] { x[k] = 1; }", false) == kOverBudget);
  CHECK(beside("loop k in 0..n[0] { x[k] = 1; }", true) == kAttempt);
  const std::string sum =
      "op sum(q: u32) -> u32 { let s = 0; loop j in 0..2 { s = s + q; } yield "
      "s; } x[0] = sum(3);";
  CHECK(beside(sum, false) == kOverBudget);
  CHECK(beside(sum, true) == kAttempt);
}

TEST_CASE("routing: comparing what an iteration changed takes loops too") {
  const auto compared = [](RoutingCase c, std::string_view statements = kOneStep) {
    c.loop_budget = 160;
    if (!c.iterations) c.iterations = 2;
    return route_of(statements, c);
  };
  // Four invocations look through `x`: a quarter of its elements each, and two trips around.
  CHECK(compared({.lengths = {32, 9999, 9999}}) == kFits);
  CHECK(compared({.lengths = {36, 9999, 9999}}) == kOverBudget);
  CHECK(compared({.can_try = true, .lengths = {36, 9999, 9999}}) == kAttempt);
  CHECK(compared({.grid = {2, 1, 1}, .lengths = {64, 9999, 9999}}) == kFits);
  CHECK(compared({.grid = {1, 2, 1}, .lengths = {68, 9999, 9999}}) == kOverBudget);
  CHECK(compared({.lengths = {12, 12, 9999}}, "x[0] = 1; y[0] = 1;") == kFits);
  CHECK(compared({.lengths = {12, 16, 9999}}, "x[0] = 1; y[0] = 1;") == kOverBudget);
  CHECK(compared({.lengths = {16, 16, 9999}}, "loop k in 0..3 { x[k] = 1; }") == kFits);
  CHECK(compared({.lengths = {20, 16, 9999}}, "loop k in 0..3 { x[k] = 1; }") == kOverBudget);
  // Where the lengths are not known, it may be anything; where nothing is compared, nothing.
  CHECK(compared({}) == kOverBudget);
  CHECK(compared({.convergence = Convergence::Kind::Flag}) == kFits);
  CHECK(compared({.convergence = Convergence::Kind::None}) == kFits);
  CHECK(compared({.iterations = 1}, kStep) == kFits);
}

TEST_CASE("routing: heavy work is shared by compute units, light work is not worth a dispatch") {
  const auto heavy = [](std::uint32_t trips, std::uint32_t units) {
    return route_of(fmt::format("let h = x[invocation.x]; loop k in 0..{} {{ h = h * 3 + k; }} "
                                "gridsync; y[invocation.x] = h;",
                                trips),
                    {.grid = {64, 1, 1}, .compute_units = units});
  };
  CHECK(heavy(16, 16) == kFits);
  CHECK(heavy(4096, 16) == kSegments);
  CHECK(heavy(200, 1) == kFits);
  CHECK(heavy(200, 64) == kSegments);
}

TEST_CASE("routing: a trip count that stands in an input is known, if the input is") {
  const std::vector<std::uint32_t> nine{9};
  const std::vector<std::uint32_t> eleven{11};
  const auto around = [](const std::vector<std::uint32_t>& words, std::string_view access) {
    const auto bytes = std::as_bytes(std::span(words));
    return route_of_program(
        fmt::format("program p workgroup(4) {{ readwrite x: u32[]; {} n: u32[]; loop k in 0..n[0] "
                    "{{ x[k] = 1; gridsync; }} }}",
                    access),
        {.loop_budget = 160, .can_try = true, .lengths = {1, 1}, .contents = {{}, bytes}});
  };
  CHECK(around(nine, "readonly") == kFits);
  CHECK(around(nine, "uniform") == kFits);
  CHECK(around(eleven, "uniform") == kOverBudget);
  CHECK(around({}, "uniform") == kOverBudget);      // not known
  CHECK(around(nine, "readwrite") == kOverBudget);  // it may change
}

TEST_CASE("routing: the form depends on contents only where an element has a fixed place") {
  const auto depends = [](std::string_view statements, std::uint32_t iterations = 1,
                          GridSync asked = GridSync::Automatic) {
    DispatchConfig config;
    config.fixpoint_iterations = iterations;
    config.grid_sync = asked;
    return dispatch::route_depends_on_contents(
        valid_program(fmt::format("program p workgroup(4) {{ readwrite x: u32[]; uniform n: "
                                  "u32[4]; {} }}",
                                  statements)),
        config, DeviceProfile{});
  };
  CHECK(depends("loop k in 0..n[3] { gridsync; }"));
  CHECK(depends("x[0] = n[0];", 2));
  CHECK_FALSE(depends("x[0] = n[0];"));
  CHECK_FALSE(depends("loop k in 0..n[3] { gridsync; }", 1, GridSync::Resident));
  CHECK_FALSE(depends("loop k in 0..n[x[0]] { gridsync; }"));
  CHECK_FALSE(depends("loop k in 0..x[0] { gridsync; }"));
}

TEST_CASE("routing: a kernel of the whole program may have too many storage buffers") {
  // Half of them before the barrier, and half behind it.
  const auto outputs = [](int count, std::uint32_t most, bool together = false) {
    std::string buffers;
    std::string first;
    std::string second = "b0[1] = 2; ";
    for (int k = 0; k < count; ++k) {
      buffers += fmt::format("readwrite b{}: u32[]; ", k);
      (k < count / 2 || together ? first : second) += fmt::format("b{}[0] = 1; ", k);
    }
    return route_of_program(
        fmt::format("program p workgroup(4) {{ {} {} gridsync; {} }}", buffers, first, second),
        {.storage_buffers = most});
  };
  CHECK(outputs(40, 32) == kManyBuffers);
  CHECK(outputs(40, 0) == kFits);
  CHECK(outputs(40, 42) == kFits);
  CHECK(outputs(40, 41) == kManyBuffers);  // lowering may add two
  // Segments would not have fewer.
  CHECK(outputs(40, 32, true) == kFits);
}

TEST_CASE("routing: estimates stand where the choice is between two forms") {
  const auto estimates = [](GridSync asked) {
    DispatchConfig config;
    config.grid_sync = asked;
    DeviceProfile device;
    device.max_workgroup_invocations = 128;
    device.max_workgroup_size = {128, 128, 64};
    const auto program = valid_program(
        "program p workgroup(4) { readwrite x: u32[]; x[0] = 1; gridsync; x[1] = 2; }");
    const auto choice = dispatch::choose_route(program, config, {1, 1, 1}, device);
    REQUIRE(choice);
    return choice->estimates.has_value();
  };
  CHECK(estimates(GridSync::Automatic));
  CHECK_FALSE(estimates(GridSync::Resident));
  CHECK_FALSE(estimates(GridSync::OneWorkgroup));
}

TEST_CASE("routing: the buffers that an iteration may change") {
  const auto changed = [](std::string_view statements) {
    const ir::Program program = valid_program(
        fmt::format("program p workgroup(4) {{ readwrite x: u32[]; readwrite y: u32[]; readonly n: "
                    "u32[]; workgroup t: u32[4]; {} }}",
                    statements));
    std::string text;
    for (const ir::BufferId id : dispatch::changed_buffers(program)) {
      text += program.buffer(id).name;
    }
    return text;
  };
  CHECK(changed("let v = x[0] + n[0];") == "");
  CHECK(changed("y[0] = x[0]; t[0] = 1;") == "y");
  CHECK(changed("y[0] = 1; atomic_add(x[0], 1); atomic_add(t[0], 1);") == "xy");
  CHECK(changed("async_store(y[0], t[0], 1, q); async_wait(q);") == "y");
}

TEST_CASE("routing: a kernel sees changes that are reported, or that all invocations can compare") {
  const auto sees = [](std::string_view element, std::string_view statements,
                       const GridSyncOptions& options = {.one_dimensional = true}) {
    return dispatch::kernel_sees_changes(
        valid_program(fmt::format("program p workgroup(4) {{ readwrite x: {}[]; output o: {}[8]; "
                                  "let i = invocation.x; {} }}",
                                  element, element, statements)),
        options);
  };
  CHECK(sees("u32", "x[i] = 1;"));
  CHECK(sees("u32", "if i > 3 { return; } x[i] = 1;"));  // the store reports
  CHECK(sees("u32", "x[0] = 1;"));                       // is compared
  CHECK_FALSE(sees("u32", "if i > 3 { return; } x[0] = 1;"));
  CHECK_FALSE(sees("u32", "if i > 3 { return; } x[i] = 1;", {.one_dimensional = false}));
  CHECK(sees("u32", "x[i] = 1;", {.one_dimensional = false}));
  // The bytes of a caller's float are not its value.
  CHECK_FALSE(sees("f32", "x[0] = 1.0;"));
  CHECK(sees("f32", "o[0] = 1.0;"));
  CHECK_FALSE(sees("f32", "o[0] = 1.0;", {.one_dimensional = true, .fresh_outputs = false}));
}
