// Checks of a sequence before it is recorded. The code that makes sequences keeps to all this, so a
// failure is a bug of the runtime, reported instead of recorded.
#pragma once

#include "vk/record/sequence.h"

namespace felsite::vk {

Result<void> check_sequence(const Sequence& sequence, const Device& device);

// Whole words of a buffer of Place::Control, which the host can read and write.
Result<void> check_host_words(const BufferSlice& words, const Device& device);

}  // namespace felsite::vk
