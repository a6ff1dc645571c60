// What a kernel wrote into its status buffer, as an error.
#pragma once

#include <optional>

#include "felsite/kernel.h"

namespace felsite::vk {

// Nothing for a clean run.
std::optional<Error> error_of(const codegen::Status& status, const codegen::Kernel& kernel);

}  // namespace felsite::vk
