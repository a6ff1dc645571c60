// Which grid runs when the caller names none.
#pragma once

#include <array>
#include <cstdint>

namespace felsite::dispatch {

// Enough workgroups for `elements` invocations, spread over the axes whose workgroup size exceeds 1
// (the first axis if none does) as evenly as whole numbers allow, earlier axes first.
std::array<std::uint32_t, 3> infer_grid(std::uint64_t elements,
                                        std::array<std::uint32_t, 3> workgroup_size);

}  // namespace felsite::dispatch
