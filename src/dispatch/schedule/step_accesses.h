// From a schedule to what its steps access. Recordings and explanations take their barriers from
// here, so both have the same ones.
#pragma once

#include "dispatch/barriers/sequence_plan.h"
#include "dispatch/schedule/schedule.h"

namespace felsite::dispatch {

// The prefix is the prologue and the repeated steps are the block, in order; buffers are those of
// Schedule::buffers. A block that is watched ends with a step more: the host's look at the word.
// What surrounds the schedule (uploads, fills, reads, other work) is not part of it.
SequencePlan sequence_of(const Schedule& schedule);

}  // namespace felsite::dispatch
