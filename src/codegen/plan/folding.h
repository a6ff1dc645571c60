// A whole grid folded into one workgroup. Its invocations are numbered, workgroup after workgroup
// and within each along x, then y, then z; all ids follow from the number. If they are more than
// the lanes of a workgroup on the device, a lane runs several of them, which take turns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "codegen/values/values.h"
#include "felsite/kernel.h"

namespace felsite::codegen {

struct GridFolding {
  Extent3 grid{1, 1, 1};          // in workgroups of the program
  Extent3 size{1, 1, 1};          // of one of them, in invocations
  std::uint64_t invocations = 1;  // of the whole grid; capped at a number that no device runs
  std::uint32_t lanes = 1;        // of the workgroup that runs
  std::uint32_t turns = 1;        // most invocations of a lane; the last turn may be short

  // The invocation of the lane at this turn. In the last turn it may be past the end.
  Word number(Word lane, Word turn) const { return turn * lanes + lane; }
};

inline constexpr std::uint32_t kMaxTurns = 8;

// The lanes that a folded grid can have on the device.
std::uint32_t most_lanes(const DeviceLimits& limits);

// None where there is nothing to fold: the grid is one workgroup already, or does not run as one.
std::optional<GridFolding> plan_folding(const Segment& segment, const DeviceLimits& limits);

// The ids of the invocation with this number.
Word workgroup_of(const GridFolding& folding, Word number, std::uint32_t axis);
Word local_of(const GridFolding& folding, Word number, std::uint32_t axis);
Word invocation_of(const GridFolding& folding, Word number, std::uint32_t axis);

}  // namespace felsite::codegen
