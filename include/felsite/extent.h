// Extents along x, y and z: of a grid in workgroups, of a workgroup in invocations.
#pragma once

#include <array>
#include <cstdint>

namespace felsite {

using Extent3 = std::array<std::uint32_t, 3>;

}  // namespace felsite
