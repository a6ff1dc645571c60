// A whole grid as one workgroup: the modules, and what is refused.
#include <fmt/format.h>

#include <algorithm>

#include "felsite/kernel.h"
#include "support/run_program.h"
#include "support/spirv_check.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Capabilities;

namespace {

Result<codegen::Kernel> lower_on_grid(std::string_view text, Extent3 grid,
                                      const Capabilities& mask = codegen::all_capabilities()) {
  codegen::Segment segment(valid_program(text));
  segment.one_workgroup = codegen::OneWorkgroup{.grid = grid, .iterations = {}};
  return codegen::lower(segment, mask);
}

codegen::Kernel valid_kernel(std::string_view text, Extent3 grid,
                             const Capabilities& mask = codegen::all_capabilities()) {
  auto kernel = lower_on_grid(text, grid, mask);
  REQUIRE_MESSAGE(kernel.has_value(), to_string(kernel.error()));
  CHECK(validation_message(kernel->words) == "");
  return *std::move(kernel);
}

constexpr std::string_view kNeighbours = R"(program neighbours workgroup(4, 2) {
  readwrite x: u32[];
  output y: u32[64];
  let i = invocation.x + 100 * invocation.y + local.x * num_workgroups.y + workgroup_id.x;
  if x[i] == 3 {
    return;
  }
  gridsync;
  y[i] = x[i + 1] + workgroup_size.x;
}
)";

}  // namespace

TEST_CASE("grid barriers of one workgroup are its barriers") {
  for (const Capabilities& mask : {codegen::all_capabilities(), codegen::no_capabilities()}) {
    const codegen::Kernel kernel = valid_kernel(kNeighbours, {1, 1, 1}, mask);
    CHECK(kernel.workgroup_size == Extent3{4, 2, 1});
    CHECK(kernel.workgroup_size_is_fixed);
    CHECK(disassembly(kernel.words).find("OpControlBarrier") != std::string::npos);
    // The grid is known.
    CHECK(std::ranges::none_of(kernel.parameters, [](const codegen::Parameter& parameter) {
      return parameter.kind == codegen::ParameterKind::Grid;
    }));
  }
}

TEST_CASE("lanes of one subgroup wait for that alone") {
  const auto waits_for_subgroup = [](std::string_view size, Extent3 grid,
                                     const Capabilities& mask) {
    const auto kernel = valid_kernel(fmt::format(R"(program p workgroup({}) {{
  readwrite x: u32[];
  let i = local.x + 4 * local.y;
  x[i] = i;
  gridsync;
  x[i] = x[i + 1];
}})",
                                                 size),
                                     grid, mask);
    const std::string text = disassembly(kernel.words);
    const std::size_t at = text.find("OpControlBarrier %uint_");
    REQUIRE(at != std::string::npos);
    return text[at + std::string_view("OpControlBarrier %uint_").size()] == '3';
  };
  Capabilities mask = codegen::all_capabilities();
  mask.subgroup_size = 8;
  CHECK(waits_for_subgroup("8", {1, 1, 1}, mask));
  CHECK(waits_for_subgroup("5", {1, 1, 1}, mask));
  CHECK(waits_for_subgroup("2, 2", {2, 1, 1}, mask));  // folded, so a row
  CHECK(!waits_for_subgroup("9", {1, 1, 1}, mask));
  CHECK(!waits_for_subgroup("8", {2, 1, 1}, mask));
  // Rows of a workgroup may be subgroups of their own.
  CHECK(!waits_for_subgroup("4, 2", {1, 1, 1}, mask));
  mask.features.reset(static_cast<std::size_t>(codegen::Feature::LinearSubgroups));
  CHECK(!waits_for_subgroup("8", {1, 1, 1}, mask));
}

TEST_CASE("a folded grid has the workgroup size of all its invocations") {
  for (const Capabilities& mask : {codegen::all_capabilities(), codegen::no_capabilities()}) {
    for (const auto& grid : std::vector<Extent3>{{3, 1, 1}, {1, 5, 1}, {2, 3, 4}, {1, 1, 7}}) {
      const codegen::Kernel kernel = valid_kernel(kNeighbours, grid, mask);
      CHECK(kernel.workgroup_size == Extent3{8 * grid[0] * grid[1] * grid[2], 1, 1});
      CHECK(kernel.workgroup_size_is_fixed);
    }
  }
}

TEST_CASE("a grid that cannot be one workgroup is refused by the reason") {
  const auto refusal = [](std::string_view body, Extent3 grid) {
    const auto kernel = lower_on_grid(
        fmt::format("program p workgroup(8) {{ readwrite x: u32[]; workgroup t: u32[8]; {} "
                    "gridsync; x[0] = 1; }}",
                    body),
        grid);
    if (kernel) return std::string();
    CHECK(kernel.error().code == ErrorCode::UnsupportedFeature);
    CHECK(!kernel.error().fix.empty());
    return kernel.error().message;
  };
  for (const auto& [body, reason] :
       {std::pair{"t[0] = 1;", "`t`"}, std::pair{"barrier;", "barrier"},
        std::pair{"x[1] = subgroup_add(x[0]);", "subgroups"},
        std::pair{"x[1] = subgroup_lane;", "subgroups"}}) {
    CAPTURE(body);
    CHECK(refusal(body, {1, 1, 1}) == "");
    CHECK(refusal(body, {2, 1, 1}).find(reason) != std::string::npos);
  }
  CHECK(refusal("x[2] = 1;", {2, 1, 1}) == "");

  const auto too_many = lower_on_grid(kNeighbours, {1000, 1000, 1});
  REQUIRE(!too_many.has_value());
  CHECK(too_many.error().code == ErrorCode::UnsupportedFeature);
  CHECK(too_many.error().context.requested == 8'000'000);
  CHECK(too_many.error().context.available ==
        8 * codegen::all_capabilities().limits.workgroup_invocations);
  CHECK(!lower_on_grid(kNeighbours, {UINT32_MAX, UINT32_MAX, UINT32_MAX}).has_value());
}

TEST_CASE("one workgroup of nothing, or in parts, is no segment") {
  codegen::Segment segment(valid_program(kNeighbours));
  segment.one_workgroup = codegen::OneWorkgroup{.grid = {1, 0, 1}, .iterations = {}};
  const auto nothing = codegen::lower(segment, codegen::all_capabilities());
  REQUIRE(!nothing.has_value());
  CHECK(nothing.error().code == ErrorCode::InvalidProgram);
  segment.one_workgroup->grid = {1, 1, 1};
  segment.grid_in_parts = true;
  const auto in_parts = codegen::lower(segment, codegen::all_capabilities());
  REQUIRE(!in_parts.has_value());
  CHECK(in_parts.error().code == ErrorCode::InvalidProgram);
}

TEST_CASE("a few invocations to a lane") {
  for (Capabilities mask : {codegen::all_capabilities(), codegen::no_capabilities()}) {
    mask.limits.workgroup_invocations = 16;
    const auto lanes = [&](Extent3 grid) {
      return valid_kernel(kNeighbours, grid, mask).workgroup_size[0];
    };
    CHECK(lanes({2, 1, 1}) == 16);
    CHECK(lanes({3, 1, 1}) == 12);
    CHECK(lanes({5, 1, 1}) == 14);
    CHECK(lanes({4, 4, 1}) == 16);
    CHECK(!lower_on_grid(kNeighbours, {17, 1, 1}, mask).has_value());
  }
  // Both limits count.
  Capabilities mask = codegen::all_capabilities();
  mask.limits.workgroup_size[0] = 8;
  CHECK(valid_kernel(kNeighbours, {2, 1, 1}, mask).workgroup_size == Extent3{8, 1, 1});
}
