#include "dispatch/schedule/grid.h"

#include <algorithm>

namespace felsite::dispatch {

std::optional<Extent3> infer_grid(std::uint64_t elements, Extent3 workgroup_size) {
  std::optional<std::size_t> along;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (workgroup_size[axis] <= 1) continue;
    if (along) return std::nullopt;
    along = axis;
  }
  const std::size_t axis = along.value_or(0);
  const std::uint64_t size = workgroup_size[axis];
  Extent3 grid{1, 1, 1};
  const std::uint64_t extent = elements / size + (elements % size != 0 ? 1 : 0);
  // Larger extents have ids of more than 32 bits, which plan_grid refuses.
  grid[axis] = static_cast<std::uint32_t>(std::min<std::uint64_t>(extent, UINT32_MAX));
  return grid;
}

}  // namespace felsite::dispatch
