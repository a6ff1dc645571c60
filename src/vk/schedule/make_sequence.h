// From a stage of a submission to a sequence of the device.
#pragma once

#include "dispatch/contract/service.h"
#include "vk/record/engine.h"

namespace felsite::vk {

inline BufferSlice slice_of(const dispatch::MemoryRange& range) {
  return {std::static_pointer_cast<Buffer>(range.memory), range.offset, range.bytes};
}

// Allocates what the schedule needs for itself. The first stage has the fills and uploads, the last
// one the reads.
Result<Sequence> make_sequence(Engine& engine, const dispatch::Submission& submission,
                               std::size_t stage);

}  // namespace felsite::vk
