// Reading and writing whole files, with errors as values. `-` is standard input or output.
#pragma once

#include <string>
#include <string_view>

#include "base/bounded_read.h"
#include "felsite/error.h"

namespace felsite::tool {

// A program's text: ir::kMaxTextBytes at most.
Result<std::string> read_file(const std::string& path);
// BadInputs, which names the limit, if the file is longer.
Result<std::string> read_bytes(const std::string& path, const base::ReadLimits& limits);
// Replaces the file as a whole (base/durable_file.h): an error leaves the old one.
Result<void> write_file(const std::string& path, std::string_view bytes);

// One path for all spellings of a file, also through symbolic links, and also for a file that does
// not exist yet.
std::string whole_path(const std::string& path);
// Whether writing the one replaces the other; `-` is read from whatever file standard input is
// redirected from. Only plain files are replaced.
bool replaces(const std::string& written, const std::string& read);
// Whether the path is `-` or leads to descriptor 1, as /dev/stdout does.
bool is_standard_output(const std::string& path);

}  // namespace felsite::tool
