// Which grid runs when the caller names none, and the parts that a large one runs in.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "felsite/extent.h"

namespace felsite::dispatch {

// Enough workgroups for `elements` invocations, along the axis whose workgroup size exceeds 1 (the
// first if none does). None where several do: how elements map to them cannot be guessed.
std::optional<Extent3> infer_grid(std::uint64_t elements, Extent3 workgroup_size);

// The parts that a grid runs in; each fits one dispatch.
struct GridPart {
  Extent3 base{};
  Extent3 grid{};
};
std::vector<GridPart> grid_parts(const Extent3& grid, const Extent3& most);
bool fits_one_dispatch(const Extent3& grid, const Extent3& most);

}  // namespace felsite::dispatch
