// Many iterations in one dispatch share the driver's loop budget: which loops are counted while
// they run, and what is spent around an iteration.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

codegen::Segment in_iterations(std::string_view declarations, std::string_view body,
                               bool has_changed = false) {
  codegen::Segment segment(valid_program(fmt::format(
      "program p workgroup(64) {{ readwrite control: u32[3]; readwrite y: u32[]; {} {} }}",
      declarations, body)));
  segment.one_workgroup = codegen::OneWorkgroup{};
  segment.one_workgroup->iterations = codegen::IterationLoop{};
  if (has_changed) {
    segment.one_workgroup->iterations->changed = segment.program.find_buffer("changed");
  }
  return segment;
}

// "unlimited", "one each", or the loops whose trips are counted: "counts a c".
std::string iterations_of(std::string_view declarations, std::string_view body,
                          std::uint32_t budget = 1000) {
  const codegen::Segment segment = in_iterations(declarations, body);
  codegen::Capabilities mask;
  mask.loop_budget = budget;
  const codegen::IterationPlan plan = codegen::plan_iterations(segment, mask);
  if (!plan.limited) return "unlimited";
  if (plan.one_each) return "one each";
  std::string text = "counts";
  std::uint32_t next = 1;
  for (ir::NodeId id = 0; id < segment.program.nodes().size(); ++id) {
    if (plan.counted[id] == 0) continue;
    CHECK(plan.counted[id] == next++);
    text += fmt::format(" {}", segment.program.var_name(segment.program.node(id).ref));
  }
  CHECK(plan.counted_loops == next - 1);
  return text;
}

std::uint32_t trips_around(std::string_view declarations, std::uint32_t lanes = 64,
                           bool has_changed = false) {
  return codegen::trips_around_iteration(in_iterations(declarations, "y[0] = 1;", has_changed),
                                         lanes);
}

std::string uncounted_loops(std::uint32_t count) {
  std::string text;
  for (std::uint32_t k = 0; k < count; ++k) {
    text += fmt::format("loop k{} in 0..y[0] {{ }} ", k);
  }
  return text;
}

}  // namespace

TEST_CASE("iterations: loops are counted where their trips are not in the text") {
  CHECK(iterations_of("", "loop a in 0..y[0] { y[1] = a; }", 0) == "unlimited");
  CHECK(iterations_of("", "y[0] = 1;") == "counts");
  CHECK(iterations_of("", "loop a in 0..9 { y[1] = a; }") == "counts");
  CHECK(iterations_of("", "loop a in 0..y[0] { y[1] = a; }") == "counts a");
  CHECK(iterations_of("", "loop a in y[0]..9 { y[1] = a; }") == "counts a");
  CHECK(
      iterations_of("", "loop a in 0..y[0] { loop b in 0..9 { loop c in 0..a { y[1] = c; } } }") ==
      "counts a c");
}

TEST_CASE("iterations: 64 loops are counted at most") {
  CHECK(iterations_of("", uncounted_loops(64)).starts_with("counts k0 k1 "));
  CHECK(iterations_of("", uncounted_loops(64)).ends_with(" k63"));
  CHECK(iterations_of("", uncounted_loops(65)) == "one each");
}

TEST_CASE("iterations: one in a dispatch where loops are not in the entry") {
  CHECK(iterations_of("readwrite f: f32[];", "atomic_add(f[0], 1.0);") == "one each");
  CHECK(iterations_of("readwrite f: f32[];", "atomic_add(y[0], 1);") == "counts");
  CHECK(iterations_of("op twice(q: u32) -> u32 { yield q + q; }", "y[0] = twice(2);") == "counts");
  CHECK(iterations_of("op sum(q: u32) -> u32 { let s = 0; loop j in 0..9 { s = s + q; } yield s; }",
                      "y[0] = sum(2);") == "one each");
}

TEST_CASE("iterations: the trips around one") {
  CHECK(trips_around("") == 2);
  // Zeroing 64 elements of up to two words takes 64 lanes two trips, and two more to begin and end.
  CHECK(trips_around("workgroup t: u32[64];") == 2 + 4);
  CHECK(trips_around("workgroup t: u32[64];", 32) == 2 + 6);
  CHECK(trips_around("workgroup t: u32[64]; workgroup u: u32[1];") == 2 + 4 + 2);
  // The words that report a change: those that one lane each can zero take no loop.
  CHECK(trips_around("readwrite changed: u32[65];", 64, true) == 2 + 3);
  CHECK(trips_around("readwrite changed: u32[64];", 64, true) == 2);
  CHECK(trips_around("readwrite changed: u32[];", 64, true) == 2);
  CHECK(trips_around("readwrite changed: u32[65];", 64, false) == 2);
  // What no budget has is not counted further.
  CHECK(trips_around("workgroup t: u32[16000]; workgroup u: u32[16000];", 1) == 64006);
  CHECK(trips_around("workgroup t: u32[16000]; workgroup u: u32[17000];", 1) == 65535);
}
