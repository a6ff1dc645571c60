// Golden schedules: each file of tests/dispatch/schedules is what one shape or sample becomes on a
// device of the tests. FELSITE_UPDATE_SNAPSHOTS=1 rewrites the files, for a reviewer to read the
// difference.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "dispatch/explain/schedule_text.h"
#include "support/parse.h"
#include "support/results.h"
#include "support/schedule_of.h"
#include "support/scratch_folder.h"

using namespace felsite;
using namespace felsite::test;

namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(FELSITE_SOURCE_DIR) / "tests/dispatch/schedules";

struct Shape {
  Shape(std::string shape_name, std::string text, DispatchConfig how = {},
        DeviceProfile where = profile_for_schedules())
      : name(std::move(shape_name)),
        program(std::move(text)),
        config(std::move(how)),
        device(std::move(where)) {}

  std::string name;
  std::string program;
  DispatchConfig config;
  DeviceProfile device;
  std::uint64_t elements = 8;                     // of each buffer without a count
  std::map<std::string, std::uint64_t> counts{};  // or of one with this name
  bool device_reads_grid = false;
  bool can_try = false;
};

dispatch::Schedule schedule_of_shape(const Shape& shape) {
  const ir::ValidProgram program = valid_program(shape.program);
  std::vector<std::uint64_t> sizes;
  for (const ir::BufferDecl& buffer : program.buffers()) {
    if (!ir::takes_caller_bytes(ir::role_of(buffer))) continue;
    const auto named = shape.counts.find(buffer.name);
    const std::uint64_t count = named != shape.counts.end() ? named->second
                                : buffer.count != 0         ? buffer.count
                                                            : shape.elements;
    sizes.push_back(count * ir::info(buffer.element).bytes);
  }
  const auto bindings = must(dispatch::plan_bindings(program, sizes, shape.config));
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> bytes;
  for (const dispatch::BoundBuffer& buffer : bindings.buffers) {
    counts.push_back(buffer.count);
    bytes.push_back(buffer.role == ir::Role::Shared ? 0 : buffer.bytes);
  }
  dispatch::ScheduleRequest request{.program = program,
                                    .config = shape.config,
                                    .counts = counts,
                                    .bytes = bytes,
                                    .fresh_outputs = true,
                                    .can_try = shape.can_try,
                                    .name = std::string(program.name())};
  if (!shape.device_reads_grid) {
    request.grid = must(dispatch::plan_grid(program, bindings, shape.config, std::nullopt));
  }
  return must(dispatch::make_schedule(request, shape.device));
}

void check_golden(const std::string& name, const std::string& found) {
  CAPTURE(name);
  const std::filesystem::path path = kFolder / (name + ".txt");
  if (std::getenv("FELSITE_UPDATE_SNAPSHOTS") != nullptr) {
    std::ofstream(path) << found;
  } else {
    CHECK(found == read_file(path));
  }
}

// A program of two invocations a workgroup. `more` are further buffers.
std::string shape_text(std::string_view body, std::string_view more = "") {
  return fmt::format(
      "program p workgroup(2) {{\n  readwrite x: u32[];\n{}  let i = invocation.x;\n  {}\n}}\n",
      more.empty() ? "" : fmt::format("  {}\n", more), body);
}

DispatchConfig on(std::uint32_t groups, GridSync form = GridSync::Resident) {
  DispatchConfig config;
  config.grid_override = Extent3{groups, 1, 1};
  config.grid_sync = form;
  return config;
}

DispatchConfig repeat(DispatchConfig config, std::uint32_t bound, Convergence convergence = {}) {
  config.fixpoint_iterations = bound;
  config.convergence = std::move(convergence);
  return config;
}

DeviceProfile without_conditions() {
  DeviceProfile device = profile_for_schedules();
  device.conditional_steps = false;
  return device;
}

DeviceProfile with_small_dispatches(DeviceProfile device = profile_for_schedules()) {
  device.workgroups_per_dispatch.fill(3);
  return device;
}

// On a grid of this many workgroups of two, only two iterations go into a block.
constexpr std::uint32_t kManyGroups = 1u << 24;
DeviceProfile with_large_dispatches(DeviceProfile device = profile_for_schedules()) {
  device.workgroups_per_dispatch.fill(UINT32_MAX);
  return device;
}

constexpr const char* kStore = "x[i] = x[i] + 1;";
constexpr const char* kTwoSegments = "x[i] = i;\n  gridsync;\n  x[i] = x[i] + x[0];";
constexpr const char* kLower = "if x[i] > 0 { x[i] = x[i] - 1; }";
constexpr const char* kFlagged = "if x[i] > 0 { x[i] = x[i] - 1; flag[0] = 1; }";
constexpr const char* kFlag = "readwrite flag: u32[1];";
constexpr const char* kBound = "readonly n: u32[1];";
constexpr const char* kDeviceLoop = "loop k in 0..n[0] {\n    x[i] = x[i] + k;\n    gridsync;\n  }";
const Convergence kByFlag{Convergence::Kind::Flag, "flag"};
const Convergence kNever{Convergence::Kind::None, {}};

struct Adder {
  std::vector<Shape>& all;
  template <class... Fields>
  Shape& operator()(Fields&&... fields) const {
    return all.emplace_back(std::forward<Fields>(fields)...);
  }
};

std::vector<Shape> plain_shapes() {
  DispatchConfig large = on(200000);
  DispatchConfig flat = on(0);
  std::vector<Shape> all;
  const Adder add{all};
  add("plain", shape_text(kStore));
  add("plain_grid_in_parts", shape_text(kStore), large);
  add("plain_empty_grid", shape_text(kStore), flat);
  add("plain_does_nothing", shape_text(""));
  add("plain_trap", shape_text("if x[i] == 7 { trap(i, seven); }"));
  add("plain_bound_1", shape_text(kStore), repeat({}, 1));
  add("plain_indirect",
      "program p workgroup(2) {\n  readonly words: u32[4];\n  readwrite x: u32[];\n"
      "  indirect_dispatch(words[1]);\n  x[invocation.x] = 1;\n}\n")
      .device_reads_grid = true;
  add("plain_workgroup_memory",
      shape_text("s[local.x] = x[i];\n  barrier;\n  x[i] = s[1 - local.x];",
                 "workgroup s: u32[2];"));
  return all;
}

std::vector<Shape> segment_shapes() {
  DeviceProfile narrow = profile_for_schedules();
  narrow.max_storage_buffer_bytes = 64;
  std::vector<Shape> all;
  const Adder add{all};
  add("two_segments", shape_text(kTwoSegments), on(4));
  add("two_segments_grid_in_parts", shape_text(kTwoSegments), on(4), with_small_dispatches());
  add("two_segments_empty_grid", shape_text(kTwoSegments), on(0, GridSync::Automatic));
  add("two_segments_host_split", shape_text(kTwoSegments), on(4, GridSync::HostSplit));
  add("segment_does_nothing", shape_text("gridsync;\n  x[i] = 1;"), on(4));
  add("only_barriers", shape_text("gridsync;\n  gridsync;"), on(4));
  add("traps_in_segments",
      shape_text("if x[i] == 1 { trap(i, first); }\n  gridsync;\n  if x[i] == 2 { trap(i, "
                 "second); }\n  x[i] = 0;"),
      on(4));
  add("loop_of_literal_bounds",
      shape_text("loop k in 1..4 {\n    x[i] = x[i] + k;\n    gridsync;\n  }"), on(4));
  add("loops_nested",
      shape_text("loop a in 0..2 {\n    loop b in 0..2 {\n      x[i] = x[i] + a * b;\n      "
                 "gridsync;\n    }\n    x[i] = x[0];\n  }"),
      on(4));
  add("loop_to_length",
      shape_text("loop k in 0..len(x) / 2 {\n    x[i] = x[i] + k;\n    gridsync;\n  }"), on(4));
  add("loop_without_trips",
      shape_text("loop k in 3..3 {\n    x[i] = x[i] + k;\n    gridsync;\n  }"), on(4));
  add("branch_on_length",
      shape_text("if len(x) > 4 {\n    x[i] = 1;\n    gridsync;\n    x[i] = x[0];\n  }"), on(4));
  add("spill_of_invocations",
      shape_text("let old = atomic_add(x[0], 1);\n  gridsync;\n  x[i] = old;"), on(4));
  add("spill_of_workgroups",
      shape_text("let head = x[workgroup_id.x];\n  barrier;\n  gridsync;\n  x[i] = head;"), on(4));
  add("spills_in_two_bindings",
      shape_text("let a = atomic_add(x[0], 1);\n  let b = atomic_add(x[1], 1);\n  let c = "
                 "atomic_add(x[2], 1);\n  gridsync;\n  x[i] = a + b * c;"),
      on(4), narrow);
  add("return_before_barrier", shape_text("if x[i] == 3 { return; }\n  gridsync;\n  x[i] = 1;"),
      on(4));
  add("kept_workgroup_memory",
      shape_text("s[local.x] = x[i];\n  gridsync;\n  x[i] = s[1 - local.x];",
                 "workgroup s: u32[2];"),
      on(4));
  add("collective", shape_text("x[i] = i;\n  all_reduce.add(x);"));
  add("many_barriers",
      shape_text(fmt::format("{}x[i] = 1;",
                             [] {
                               std::string text;
                               for (int i = 0; i < 17; ++i) text += "gridsync; ";
                               return text;
                             }())),
      on(2, GridSync::Automatic));
  return all;
}

std::vector<Shape> walk_shapes() {
  const std::string branch = shape_text(
      "if n[0] == 1 {\n    x[i] = 1;\n    gridsync;\n    x[i] = x[0];\n  } else {\n    x[i] = "
      "2;\n    gridsync;\n  }",
      kBound);
  const std::string flagged = shape_text(
      "loop k in 0..n[0] {\n    if x[i] > k { x[i] = k; flag[0] = 1; }\n    gridsync;\n  }",
      "readonly n: u32[1];\n  readwrite flag: u32[1];");
  std::vector<Shape> all;
  const Adder add{all};
  add("walk_loop", shape_text(kDeviceLoop, kBound), on(4));
  add("walk_loop_without_conditions", shape_text(kDeviceLoop, kBound), on(4),
      with_small_dispatches(without_conditions()));
  add("walk_branch", branch, on(4));
  add("walk_branch_without_conditions", branch, on(4), without_conditions());
  add("walk_of_many_trips",
      shape_text("loop k in 0..100000 {\n    x[i] = x[i] + k;\n    gridsync;\n  }"), on(4));
  add("walk_automatic", shape_text(kDeviceLoop, kBound), repeat(on(4), 5));
  add("walk_automatic_without_conditions", shape_text(kDeviceLoop, kBound), repeat(on(4), 5),
      without_conditions());
  add("walk_flag", flagged, repeat(on(4), 5, kByFlag));
  add("walk_all_iterations", shape_text(kDeviceLoop, kBound), repeat(on(4), 5, kNever));
  return all;
}

std::vector<Shape> fixpoint_shapes() {
  const std::string halves = shape_text(
      "x[i] = x[i] / 2;\n  gridsync;\n  if y[i] > x[0] { y[i] = x[0]; }", "readwrite y: u32[];");
  const std::string wide =
      shape_text("if x[i] > 0 { x[i] = x[i] - 1; flag[i] = 1; }", "readwrite flag: u32[3];");
  std::vector<Shape> all;
  const Adder add{all};
  add("automatic_2", shape_text(kStore), repeat(on(4), 2));
  add("automatic_2_without_conditions", shape_text(kStore), repeat(on(4), 2), without_conditions());
  add("automatic_two_segments", halves, repeat(on(4), 3));
  add("automatic_two_segments_in_parts_without_conditions", halves, repeat(on(4), 3),
      with_small_dispatches(without_conditions()));
  add("automatic_blocks", shape_text(kStore), repeat(on(kManyGroups), 6), with_large_dispatches());
  add("automatic_blocks_without_conditions", shape_text(kStore), repeat(on(kManyGroups), 6),
      with_large_dispatches(without_conditions()));
  add("automatic_compared_bytes",
      "program p workgroup(2) {\n  readwrite x: u8[];\n  x[invocation.x] = "
      "x[invocation.x] + x[0];\n}\n",
      repeat(on(4), 2))
      .elements = 7;
  add("automatic_of_empty_buffers", shape_text("x[i] = x[i] + y[i];", "readwrite y: u32[];"),
      repeat(on(2), 3))
      .elements = 0;
  add("flag_1", shape_text(kFlagged, kFlag), repeat(on(4), 1, kByFlag));
  add("flag_2", shape_text(kFlagged, kFlag), repeat(on(4), 2, kByFlag));
  add("flag_2_without_conditions", shape_text(kFlagged, kFlag), repeat(on(4), 2, kByFlag),
      without_conditions());
  add("flag_of_three_words", wide, repeat(on(4), 2, kByFlag));
  add("flag_blocks", shape_text(kFlagged, kFlag), repeat(on(kManyGroups), 9, kByFlag),
      with_large_dispatches());
  add("flag_blocks_of_three_words_without_conditions", wide, repeat(on(kManyGroups), 6, kByFlag),
      with_large_dispatches(without_conditions()));
  add("flag_never_set", shape_text(kStore, "readwrite flag: u32[1];"), repeat(on(4), 4, kByFlag));
  add("all_iterations", shape_text(kTwoSegments), repeat(on(4), 9, kNever));
  add("changes_own_grid",
      "program p workgroup(1) {\n  readwrite words: u32[3];\n"
      "  indirect_dispatch(words[0]);\n  words[0] = words[0] / 2;\n}\n",
      repeat({}, 4));
  return all;
}

std::vector<Shape> one_workgroup_shapes() {
  const DispatchConfig one = on(4, GridSync::OneWorkgroup);
  DeviceProfile budget = profile_for_schedules();
  budget.loop_budget = 65536;
  const std::string long_loop =
      shape_text("loop k in 0..x[i] { x[i] = x[i] / 2; }\n  gridsync;\n  x[i] = x[0];");
  const DispatchConfig automatic = on(4, GridSync::Automatic);
  std::vector<Shape> all;
  const Adder add{all};
  add("one_workgroup", shape_text(kTwoSegments), one);
  add("one_workgroup_chosen", shape_text(kTwoSegments), automatic);
  add("one_workgroup_attempt", long_loop, automatic, budget).can_try = true;
  add("one_workgroup_no_attempt", long_loop, automatic, budget);
  add("one_workgroup_device_loop", shape_text(kDeviceLoop, kBound), one);
  add("one_workgroup_automatic", shape_text(kLower), repeat(one, 100));
  add("one_workgroup_reported", shape_text(kStore), repeat(one, 100));
  add("one_workgroup_unseen", shape_text("if i > 6 { return; }\n  atomic_add(x[i / 2], i);"),
      repeat(one, 3));
  add("one_workgroup_flag", shape_text(kFlagged, kFlag), repeat(one, 100, kByFlag));
  add("one_workgroup_flag_never_set", shape_text(kStore, "readwrite flag: u32[1];"),
      repeat(one, 100, kByFlag));
  add("one_workgroup_all_iterations", shape_text(kTwoSegments), repeat(one, 100, kNever));
  return all;
}

std::vector<Shape> all_shapes() {
  std::vector<Shape> all;
  for (auto& shapes : {plain_shapes(), segment_shapes(), walk_shapes(), fixpoint_shapes(),
                       one_workgroup_shapes()}) {
    all.insert(all.end(), shapes.begin(), shapes.end());
  }
  return all;
}

// A sample as its line `//! run:` runs it. Only sizes matter.
Shape sample_shape(const std::filesystem::path& path) {
  Shape shape("sample_" + path.stem().string(), read_file(path));
  const auto number = [](const std::string& text) {
    return static_cast<std::uint32_t>(std::stoul(text));
  };
  const std::size_t at = shape.program.find("//! run: ");
  std::istringstream line(shape.program.substr(at, shape.program.find('\n', at) - at));
  std::string option;
  std::string value;
  line >> option >> option;
  while (line >> option >> value) {
    if (option == "--input") {
      const std::size_t colon = value.find(':');
      const auto listed = static_cast<std::uint32_t>(std::ranges::count(value, ',')) + 1;
      shape.counts[value.substr(0, value.find('='))] =
          colon != std::string::npos ? number(value.substr(colon + 1)) : listed;
    } else if (option == "--grid") {
      const std::size_t comma = value.find(',');
      shape.config.grid_override = Extent3{
          number(value), comma != std::string::npos ? number(value.substr(comma + 1)) : 1, 1};
    } else if (option == "--fixpoint") {
      shape.config.fixpoint_iterations = std::min(3u, number(value));  // more would only be longer
    } else if (option == "--convergence") {
      REQUIRE(value.starts_with("flag:"));
      shape.config.convergence = {Convergence::Kind::Flag, value.substr(5)};
    }
  }
  shape.device_reads_grid = valid_program(shape.program).facts().has_indirect_dispatch;
  return shape;
}

}  // namespace

TEST_CASE("schedules as text: what each shape becomes") {
  const std::vector<Shape> shapes = all_shapes();
  std::set<std::string> names;
  for (const Shape& shape : shapes) {
    CAPTURE(shape.name);
    CHECK(names.insert(shape.name).second);
    const std::string text = to_string(schedule_of_shape(shape));
    CHECK(text == to_string(schedule_of_shape(shape)));
    check_golden(shape.name, shape.program + "\n" + text);
  }
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    CHECK((name.starts_with("sample_") || names.contains(name)));
  }
}

TEST_CASE("schedules as text: the samples in both forms on a device") {
  std::set<std::string> names;
  const std::filesystem::path samples = std::filesystem::path(FELSITE_SOURCE_DIR) / "samples";
  for (const auto& entry : std::filesystem::directory_iterator(samples)) {
    if (entry.path().extension() != ".fels") continue;
    Shape shape = sample_shape(entry.path());
    names.insert(shape.name);
    std::string text = to_string(schedule_of_shape(shape));
    shape.config.grid_sync = GridSync::Resident;
    const std::string resident = to_string(schedule_of_shape(shape));
    if (resident != text) text += "\n" + resident;
    check_golden(shape.name, text);
  }
  CHECK(names.size() >= 23);
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    CHECK((!name.starts_with("sample_") || names.contains(name)));
  }
}
