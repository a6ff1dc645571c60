// Where a sequence needs barriers: exactly where accesses conflict, and nowhere else.
#pragma once

#include <cstdint>
#include <vector>

#include "dispatch/schedule/sequence_plan.h"

namespace felsite::dispatch {

// Everything that stands before it and belongs to a stage of `from` happens before everything that
// stands after it and belongs to a stage of `to`; what the stages of `writes_from` wrote is seen
// there. It stands before step `before` of its section; `before` equal to the number of steps is
// the section's end.
struct PlannedBarrier {
  Section section = Section::Prologue;
  std::uint32_t before = 0;
  StageSet from;
  StageSet writes_from;  // part of `from`; the rest only has to have ended
  StageSet to;
  bool operator==(const PlannedBarrier&) const = default;
};

// In order of their places, at most one at a place. The block's stand in every run of the block.
struct BarrierPlan {
  std::vector<PlannedBarrier> barriers;
};

// Takes n log n for n accesses, however they overlap.
BarrierPlan plan_barriers(const SequencePlan& sequence);

}  // namespace felsite::dispatch
