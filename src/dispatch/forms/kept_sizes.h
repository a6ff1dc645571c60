// How much memory the buffers take that Felsite adds to a program cut at grid barriers. It is
// compared with the limits before anything is allocated.
#pragma once

#include "felsite/grid_sync.h"

namespace felsite::dispatch {

struct KeptLimits {
  std::uint64_t memory = UINT64_MAX;   // for all buffers together
  std::uint64_t binding = UINT64_MAX;  // for each buffer
};

struct KeptSizes {
  std::vector<std::uint64_t> spills{};  // bytes, by number
  std::vector<std::uint64_t> workgroup_spills{};
  // In the order of GridSyncPlan::kept: its parts, in whole words.
  std::vector<std::vector<std::uint64_t>> kept{};
  std::uint64_t total = 0;
};

// DeviceOutOfMemory where all of it exceeds the memory, UnsupportedFeature where one buffer exceeds
// a binding or the 32 bits of an index. The message says what was added and why.
Result<KeptSizes> size_kept(const GridSyncPlan& plan, const Extent3& grid,
                            const KeptLimits& limits);

// As much of an invocation and of a workgroup as fits into one binding, at least one word.
SpillSpread spread_that_fits(const ir::Program& program, const Extent3& grid,
                             std::uint64_t binding);

// The number of invocations of a grid; absent if it exceeds 64 bits.
std::optional<std::uint64_t> invocations_of(const ir::Program& program, const Extent3& grid);

}  // namespace felsite::dispatch
