// From a schedule to a sequence: its buffers are allocated, its kernels are looked up.
#pragma once

#include "dispatch/schedule/schedule.h"
#include "vk/record/engine.h"

namespace felsite::vk {

// Appends the steps, initial words and own bytes of the schedule to the sequence, and sets
// Sequence::iterations. `callers`: the slices of the program's buffers, by BufferId.
Result<void> materialize(Engine& engine, const dispatch::Schedule& schedule,
                         std::span<const SharedKernel> kernels,
                         std::span<const BufferSlice> callers, Sequence& sequence);

}  // namespace felsite::vk
