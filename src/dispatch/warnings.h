#pragma once

#include <string_view>

#include "felsite/warnings.h"

namespace felsite::dispatch {

void warn(std::string_view sentence);

}  // namespace felsite::dispatch
