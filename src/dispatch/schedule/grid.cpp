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

bool fits_one_dispatch(const Extent3& grid, const Extent3& most) {
  return grid[0] <= most[0] && grid[1] <= most[1] && grid[2] <= most[2];
}

std::vector<GridPart> grid_parts(const Extent3& grid, const Extent3& most) {
  std::vector<GridPart> parts;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return parts;
  GridPart part;
  // A base is below the grid's extent, so adding a part's extent does not overflow 64 bits.
  const auto along = [&](std::size_t axis, const auto& body) {
    const std::uint64_t step = std::max(most[axis], 1u);
    for (std::uint64_t base = 0; base < grid[axis]; base += step) {
      part.base[axis] = static_cast<std::uint32_t>(base);
      part.grid[axis] =
          static_cast<std::uint32_t>(std::min<std::uint64_t>(step, grid[axis] - base));
      body();
    }
  };
  along(2, [&] { along(1, [&] { along(0, [&] { parts.push_back(part); }); }); });
  return parts;
}

}  // namespace felsite::dispatch
