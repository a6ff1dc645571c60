// Which grid runs when the caller names none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace felsite::dispatch {

// Enough workgroups for `elements` invocations, along the axis whose workgroup size exceeds 1 (the
// first if none does). None where several do: how elements map to them cannot be guessed.
std::optional<Extent3> infer_grid(std::uint64_t elements, Extent3 workgroup_size);

}  // namespace felsite::dispatch
