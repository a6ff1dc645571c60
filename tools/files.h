// Reading and writing whole files, with errors as values. `-` is standard input or output.
#pragma once

#include <string>
#include <string_view>

#include "felsite/error.h"

namespace felsite::tool {

Result<std::string> read_file(const std::string& path);
Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace felsite::tool
