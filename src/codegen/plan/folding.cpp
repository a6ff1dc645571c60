#include "codegen/plan/folding.h"

#include <algorithm>

#include "codegen/values/emitter.h"

namespace felsite::codegen {
namespace {

constexpr std::uint64_t kTooManyInvocations = std::uint64_t{1} << 31;

std::uint32_t volume(const Extent3& extents) { return extents[0] * extents[1] * extents[2]; }

std::uint32_t divided_up(std::uint32_t a, std::uint32_t by) { return (a - 1) / by + 1; }

Word quotient(Word a, std::uint32_t by) { return by == 1 ? a : divide(a, a.emitter->word(by)); }

// The coordinate on one axis of the cell with this number in a box.
Word place(const Extent3& box, Word number, std::uint32_t axis) {
  Emitter& e = *number.emitter;
  if (box[axis] == 1) return e.word(0);
  std::uint32_t before = 1;
  for (std::uint32_t i = 0; i < axis; ++i) before *= box[i];
  const Word from_here = quotient(number, before);
  const bool is_last = before * box[axis] == volume(box);
  return is_last ? from_here : modulo(from_here, e.word(box[axis]));
}

}  // namespace

std::uint32_t most_lanes(const DeviceLimits& limits) {
  return std::min(limits.workgroup_invocations, limits.workgroup_size[0]);
}

std::optional<GridFolding> plan_folding(const Segment& segment, const DeviceLimits& limits) {
  if (!segment.one_workgroup || segment.one_workgroup->grid == std::array{1U, 1U, 1U}) {
    return std::nullopt;
  }
  GridFolding folding{segment.one_workgroup->grid, segment.program.workgroup_size()};
  for (const auto* extents : {&folding.grid, &folding.size}) {
    for (const std::uint32_t extent : *extents) {
      folding.invocations = std::min(folding.invocations * extent, kTooManyInvocations);
    }
  }
  // Each lane gets about as many, so that few of them wait.
  const auto all = static_cast<std::uint32_t>(folding.invocations);
  const std::uint32_t turns = divided_up(all, std::max(most_lanes(limits), 1U));
  folding.lanes = divided_up(all, turns);
  folding.turns = divided_up(all, folding.lanes);
  return folding;
}

Word workgroup_of(const GridFolding& folding, Word number, std::uint32_t axis) {
  return place(folding.grid, quotient(number, volume(folding.size)), axis);
}

Word local_of(const GridFolding& folding, Word number, std::uint32_t axis) {
  Emitter& e = *number.emitter;
  if (folding.size[axis] == 1) return e.word(0);
  const bool is_one = volume(folding.grid) == 1;
  return place(folding.size, is_one ? number : modulo(number, e.word(volume(folding.size))), axis);
}

Word invocation_of(const GridFolding& folding, Word number, std::uint32_t axis) {
  // If all invocations lie along one axis, the number is the id.
  const std::uint64_t along = std::uint64_t{folding.grid[axis]} * folding.size[axis];
  if (along == folding.invocations) return number;
  const Word workgroup = workgroup_of(folding, number, axis);
  return workgroup * folding.size[axis] + local_of(folding, number, axis);
}

}  // namespace felsite::codegen
