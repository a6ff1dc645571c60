#pragma once

#include <string_view>

#include "felsite/warnings.h"

namespace felsite::dispatch {

// Never fails, even if a handler throws or standard error cannot be written.
void warn(std::string_view sentence) noexcept;

}  // namespace felsite::dispatch
