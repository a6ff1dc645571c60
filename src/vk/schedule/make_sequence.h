// From a submission to a sequence of the device.
#pragma once

#include "dispatch/contract/service.h"
#include "vk/record/engine.h"

namespace felsite::vk {

// The memory is the engine's, and so are the kernels.
Result<Sequence> make_sequence(Engine& engine, const dispatch::Submission& submission);

inline BufferSlice slice_of(const dispatch::MemoryRange& range) {
  return {std::static_pointer_cast<Buffer>(range.memory), range.offset, range.bytes};
}

}  // namespace felsite::vk
