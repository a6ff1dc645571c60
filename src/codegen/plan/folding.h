// A whole grid as one workgroup. Its invocations are numbered, workgroup after workgroup and in
// each along x, then y, then z, and the number stands for all ids. Where they are more than a
// workgroup of the device takes, a lane has several of them, which take turns.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "codegen/values/values.h"
#include "felsite/kernel.h"

namespace felsite::codegen {

struct Folding {
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // in workgroups of the program
  std::array<std::uint32_t, 3> size{1, 1, 1};  // of these
  std::uint64_t invocations = 1;               // of the whole grid; stops at what none could run
  std::uint32_t lanes = 1;                     // of the workgroup that runs
  std::uint32_t turns = 1;                     // invocations of a lane, at most; the last is short

  // Of the lane at this turn; the last one may be past the end.
  Word number(Word lane, Word turn) const { return turn * lanes + lane; }
};

inline constexpr std::uint32_t kMostTurns = 8;

// The lanes that a folded grid can have on the device.
std::uint32_t most_lanes(const DeviceLimits& limits);

// None where there is nothing to fold: the grid is one workgroup already, or does not run as one.
std::optional<Folding> plan_folding(const Segment& segment, const DeviceLimits& limits);

// The ids of the invocation with this number.
Word workgroup_of(const Folding& folding, Word number, std::uint32_t axis);
Word local_of(const Folding& folding, Word number, std::uint32_t axis);
Word invocation_of(const Folding& folding, Word number, std::uint32_t axis);

}  // namespace felsite::codegen
