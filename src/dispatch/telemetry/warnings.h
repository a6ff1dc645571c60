#pragma once

#include <string_view>

#include "felsite/warnings.h"

namespace felsite::dispatch {

// Whatever happens to the sentence, the work goes on: a handler that throws and a standard error
// that cannot be written are no reason to fail.
void warn(std::string_view sentence) noexcept;

}  // namespace felsite::dispatch
