// For every step, the next steps that conflict with it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dispatch/barriers/sequence_plan.h"

namespace felsite::dispatch {

// An access of stage `from` in step `earlier` and one of stage `to` in step `later` share bytes,
// and at least one of them writes. A barrier between the two steps has to order them.
struct Conflict {
  std::uint32_t earlier = 0;
  std::uint32_t later = 0;
  Stage from = Stage::Compute;
  Stage to = Stage::Compute;
  bool earlier_writes = false;  // the later step must also see what was written
};

// Only the nearest conflict of each step, pair of stages and kind: a barrier between those two also
// lies between the step and every farther one. Steps are numbered by position; conflicts with the
// last `earlier` come first.
std::vector<Conflict> nearest_conflicts(std::span<const PlannedStep* const> steps);

}  // namespace felsite::dispatch
