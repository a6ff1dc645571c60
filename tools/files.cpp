#include "files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/durable_file.h"
#include "felsite/text.h"
#include "output.h"

namespace felsite::tool {
namespace {

Error file_error(const std::string& path, std::string_view what, int error) {
  return Error{.code = ErrorCode::BadInputs,
               .message = fmt::format("Cannot {} `{}`: {}.", what, path, std::strerror(error)),
               .fix = "check the path, its permissions and the room in its folder.",
               .context = {}};
}

Error too_long(const std::string& path, const base::ReadLimits& limits, std::uint64_t limit) {
  Error error{.code = ErrorCode::BadInputs,
              .message = fmt::format("`{}` has more than {} MiB, which is the most that is read.",
                                     path == "-" ? "standard input" : path, limit >> 20),
              .fix = limit < limits.file ? "put the bytes into a file, of which more is read."
                                         : "check that this is the file you mean, or split it.",
              .context = {}};
  error.context.available = limit;
  return error;
}

}  // namespace

Result<std::string> read_bytes(const std::string& path, const base::ReadLimits& limits) {
  const bool is_input = path == "-";
  const base::OwnedFile opened(is_input ? -1 : open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!is_input && !opened) return std::unexpected(file_error(path, "read", errno));
  std::string text;
  std::uint64_t limit = 0;
  const int failed = base::read_to_end(is_input ? STDIN_FILENO : opened.get(), limits, text, limit);
  if (failed == EFBIG) return std::unexpected(too_long(path, limits, limit));
  if (failed != 0) return std::unexpected(file_error(path, "read", failed));
  return text;
}

Result<std::string> read_file(const std::string& path) {
  return read_bytes(path, {.file = ir::kMostTextBytes, .stream = ir::kMostTextBytes});
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  flush_out();  // the path may lead there, and what was printed comes first
  if (path == "-") {
    write_out(bytes);
    return {};
  }
  const int failed = base::replace_file(path, {std::as_bytes(std::span(bytes))});
  if (failed != 0) return std::unexpected(file_error(path, "write", failed));
  return {};
}

}  // namespace felsite::tool
