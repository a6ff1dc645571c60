// What kernels wrote into their status buffers, as an error.
#pragma once

#include <span>

#include "felsite/kernel.h"

namespace felsite::vk {

// `words`: the kernel's status, laid out as codegen::StatusWords, with a key that is not zero.
Error error_of(std::span<const std::uint32_t> words, const codegen::Kernel& kernel);

}  // namespace felsite::vk
