// What a sequence must keep to before it is recorded. Whoever makes sequences knows all this, so a
// failure is a mistake of the runtime, but one that is said instead of done.
#pragma once

#include "vk/record/sequence.h"

namespace felsite::vk {

Result<void> check_sequence(const Sequence& sequence, const Device& device);

// Whole words that the host can read and write: those of a buffer of Place::Control.
Result<void> check_host_words(const BufferSlice& words, const Device& device);

}  // namespace felsite::vk
