// What the writer of a kernel follows in single places: who checks an access, how the lanes find
// changes, which loops the lowering adds, and what an invocation knows that has returned.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;
using codegen::AccessCheck;
using codegen::ChangeCheck;
using codegen::IndexBound;

namespace {

codegen::Segment iterating(std::string_view declarations, std::string_view body) {
  codegen::Segment segment(valid_program(fmt::format(
      "program p workgroup(64) {{ readwrite control: u32[3]; {} {} }}", declarations, body)));
  segment.one_workgroup = codegen::OneWorkgroup{};
  segment.one_workgroup->iterations = codegen::IterationLoop{};
  segment.one_workgroup->iterations->changed = segment.program.find_buffer("changed");
  return segment;
}

ChangeCheck changes_of(std::string_view declarations, bool one_subgroup) {
  codegen::MemoryUse memory;
  memory.one_subgroup = one_subgroup;
  return codegen::choose_change_check(iterating(declarations, "control[0] = 0;"), memory);
}

// For each node of the entry.
std::vector<std::uint32_t> hidden_trips(std::string_view declarations, std::string_view body) {
  codegen::Capabilities mask;
  mask.loop_budget = 1000;
  mask.subgroup_size = 32;
  return codegen::plan_iterations(iterating(declarations, body), mask).hidden_trips;
}

bool is_known_to_all(std::string_view condition) {
  const ir::Program program = valid_program(fmt::format(
      "program p workgroup(64) {{ readwrite x: u32[]; let a = x[0]; if {} {{ x[0] = 1; }} }}",
      condition));
  return codegen::is_known_to_all(program, program.node(1).args[0]);
}

}  // namespace

TEST_CASE("the device checks an access where it is robust and the index cannot wrap") {
  using codegen::AccessKind;
  using codegen::choose_access_check;
  for (const AccessKind kind :
       {AccessKind::Load, AccessKind::LoadOfChanged, AccessKind::Store, AccessKind::Atomic}) {
    for (const bool is_robust : {false, true}) {
      CHECK(choose_access_check(IndexBound::Proven, kind, is_robust) == AccessCheck::None);
      CHECK(choose_access_check(IndexBound::Unknown, kind, is_robust) == AccessCheck::Emitted);
    }
    CHECK(choose_access_check(IndexBound::Small, kind, false) == AccessCheck::Emitted);
  }
  CHECK(choose_access_check(IndexBound::Small, AccessKind::Load, true) == AccessCheck::Device);
  CHECK(choose_access_check(IndexBound::Small, AccessKind::Store, true) == AccessCheck::Device);
  // A driver may hand on what was stored, and dropped, before.
  CHECK(choose_access_check(IndexBound::Small, AccessKind::LoadOfChanged, true) ==
        AccessCheck::Emitted);
  CHECK(choose_access_check(IndexBound::Small, AccessKind::Atomic, true) == AccessCheck::Emitted);
}

TEST_CASE("the lanes find changes by the one word themselves, by the first lane, or together") {
  CHECK(changes_of("", true) == ChangeCheck::None);
  CHECK(changes_of("readwrite changed: u32[1];", true) == ChangeCheck::EachLane);
  CHECK(changes_of("readwrite changed: u32[1];", false) == ChangeCheck::FirstLane);
  CHECK(changes_of("readwrite changed: u32[2];", true) == ChangeCheck::Shared);
  CHECK(changes_of("readwrite changed: u32[];", false) == ChangeCheck::Shared);
}

TEST_CASE("subgroup operations and copies count as the loops that they may become") {
  using Trips = std::vector<std::uint32_t>;
  CHECK(hidden_trips("readwrite x: u32[];", "x[0] = 1; let a = x[1] + 2;") == Trips{0, 0});
  CHECK(hidden_trips("readwrite x: u32[];", "let a = subgroup_add(x[0]) + subgroup_max(x[1]);") ==
        Trips{66});
  CHECK(
      hidden_trips("readonly x: u32[]; workgroup t: u32[64];",
                   "async_load(t[0], x[0], 4, a); async_load(t[8], x[0], 9, b); async_wait(a);") ==
      Trips{5, 10, 5});
}

TEST_CASE(
    "an invocation that has returned knows sizes and its workgroup, not variables or memory") {
  for (const char* condition :
       {"workgroup_id.x == 0", "len(x) > 3", "num_workgroups.x == 2 || true"}) {
    CAPTURE(condition);
    CHECK(is_known_to_all(condition));
  }
  for (const char* condition : {"a == 0", "x[1] == 2", "invocation.x == 0", "local.x < 4"}) {
    CAPTURE(condition);
    CHECK_FALSE(is_known_to_all(condition));
  }
}
