// A whole grid as one workgroup: how many lanes it has, and how many invocations each lane takes.
#include <fmt/format.h>

#include "codegen/plan/plan.h"
#include "support/parse.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// "66 lanes, 2 turns", or "none" where there is nothing to fold.
std::string folding_of(Extent3 grid, std::string_view size,
                       const codegen::DeviceLimits& limits = {}) {
  codegen::Segment segment(valid_program(
      fmt::format("program p workgroup({}) {{ readwrite x: u32[]; x[0] = 1; }}", size)));
  CHECK_FALSE(codegen::plan_folding(segment, limits).has_value());
  segment.one_workgroup = codegen::OneWorkgroup{.grid = grid, .iterations = {}};
  const auto folding = codegen::plan_folding(segment, limits);
  if (!folding) return "none";
  CHECK(folding->grid == grid);
  CHECK(folding->size == segment.program.workgroup_size());
  // Every invocation has a place, and no turn is without one.
  CHECK(std::uint64_t{folding->lanes} * folding->turns >= folding->invocations);
  CHECK(std::uint64_t{folding->lanes} * (folding->turns - 1) < folding->invocations);
  return fmt::format("{} lanes, {} turns", folding->lanes, folding->turns);
}

}  // namespace

TEST_CASE("folding: one workgroup is one already") {
  CHECK(folding_of({1, 1, 1}, "4") == "none");
  CHECK(folding_of({1, 1, 1}, "128, 2") == "none");
  CHECK(folding_of({2, 1, 1}, "4") == "8 lanes, 1 turns");
  CHECK(folding_of({1, 1, 2}, "4") == "8 lanes, 1 turns");
}

TEST_CASE("folding: invocations are dealt out evenly to the lanes that a workgroup can have") {
  CHECK(folding_of({2, 3, 1}, "2, 2") == "24 lanes, 1 turns");
  CHECK(folding_of({32, 1, 1}, "4") == "128 lanes, 1 turns");
  CHECK(folding_of({33, 1, 1}, "4") == "66 lanes, 2 turns");
  CHECK(folding_of({64, 1, 1}, "4") == "128 lanes, 2 turns");
  CHECK(folding_of({65, 1, 1}, "4") == "87 lanes, 3 turns");
}

TEST_CASE("folding: lanes stand along x, so both limits count") {
  codegen::DeviceLimits limits;
  limits.workgroup_size = {16, 128, 64};
  CHECK(folding_of({8, 1, 1}, "4", limits) == "16 lanes, 2 turns");
  limits.workgroup_size = {256, 128, 64};
  CHECK(folding_of({64, 1, 1}, "4", limits) == "128 lanes, 2 turns");
  limits.workgroup_invocations = 0;
  CHECK(folding_of({2, 1, 1}, "2", limits) == "1 lanes, 4 turns");
}

TEST_CASE("folding: more invocations than can run are counted without wrapping") {
  CHECK(folding_of({65535, 65535, 65535}, "64") == "128 lanes, 16777216 turns");  // 2^31 of them
}
