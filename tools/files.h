// Reading and writing whole files, with errors as values. `-` is standard input or output.
#pragma once

#include <string>
#include <string_view>

#include "base/bounded_read.h"
#include "felsite/error.h"

namespace felsite::tool {

// A program's text: ir::kMostTextBytes at most.
Result<std::string> read_file(const std::string& path);
// BadInputs, which names the limit, where there is more.
Result<std::string> read_bytes(const std::string& path, const base::ReadLimits& limits);
// Files are replaced as a whole (base/durable_file.h): what goes wrong leaves the old one.
Result<void> write_file(const std::string& path, std::string_view bytes);

}  // namespace felsite::tool
