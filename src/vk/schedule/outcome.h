// What a run of several iterations did.
#pragma once

#include "dispatch/schedule/outcome.h"
#include "vk/record/recording.h"

namespace felsite::vk {

// After a run.
Result<dispatch::IterationsRun> outcome_of(const Recording& recording,
                                           const dispatch::IterationOutcome& outcome);

// Sums the times of recorded steps, several of which may run one segment, by segment.
std::vector<std::uint64_t> segment_times(const Sequence& sequence,
                                         std::span<const std::uint64_t> step_ns);

}  // namespace felsite::vk
