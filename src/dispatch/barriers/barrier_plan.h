// Where a sequence needs barriers: exactly where accesses conflict, and nowhere else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dispatch/barriers/sequence_plan.h"

namespace felsite::dispatch {

// Work of the stages `from` before the barrier happens before work of the stages `to` after it,
// which also sees what the stages `writes_from` wrote. The barrier is before step `before` of its
// section; the number of steps stands for the section's end.
struct PlannedBarrier {
  Section section = Section::Prologue;
  std::uint32_t before = 0;
  StageSet from;
  StageSet writes_from;  // a subset of `from`; the rest only has to have ended
  StageSet to;
  bool operator==(const PlannedBarrier&) const = default;
};

// In order of their places, at most one per place. The block's barriers are in every run of the
// block.
struct BarrierPlan {
  std::vector<PlannedBarrier> barriers;
};

// "compute+indirect"
std::string to_string(StageSet stages);

// Takes n log n for n accesses, however they overlap.
BarrierPlan plan_barriers(const SequencePlan& sequence);

}  // namespace felsite::dispatch
