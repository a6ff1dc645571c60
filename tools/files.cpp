#include "files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>

#include "base/durable_file.h"
#include "base/errors.h"
#include "felsite/text.h"
#include "output.h"

namespace felsite::tool {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // the kernel's own limit

// Where a symbolic link leads, in one step.
fs::path behind_link(const fs::path& link) {
  std::error_code failed;
  const fs::path to = fs::read_symlink(link, failed);
  return failed ? link : link.parent_path() / to;
}

bool is_link(const fs::path& path) {
  std::error_code ignored;
  return fs::is_symlink(fs::symlink_status(path, ignored));
}

// Whether standard input is redirected from the file at this path.
bool is_standard_input(const std::string& path) {
  struct stat input {};
  struct stat file {};
  return fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode) &&
         stat(path.c_str(), &file) == 0 && input.st_dev == file.st_dev &&
         input.st_ino == file.st_ino;
}

Error file_error(const std::string& path, std::string_view what, int error) {
  return base::bad_inputs(fmt::format("Cannot {} `{}`: {}.", what, path, std::strerror(error)),
                          "check the path, its permissions and the room in its folder.");
}

Error too_long(const std::string& path, const base::ReadLimits& limits, std::uint64_t limit) {
  Error error =
      base::bad_inputs(fmt::format("`{}` has more than {} MiB, which is the most that is read.",
                                   path == "-" ? "standard input" : path, limit >> 20),
                       limit < limits.file ? "put the bytes into a file, of which more is read."
                                           : "check that this is the file you mean, or split it.");
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
  return read_bytes(path, {.file = ir::kMaxTextBytes, .stream = ir::kMaxTextBytes});
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  flush_out();  // the path may lead to standard output, where printed text comes first
  if (path == "-") {
    write_out(bytes);
    return {};
  }
  const int failed = base::replace_file(path, {std::as_bytes(std::span(bytes))});
  if (failed != 0) return std::unexpected(file_error(path, "write", failed));
  return {};
}

std::string whole_path(const std::string& path) {
  std::error_code failed;
  fs::path at = fs::absolute(path, failed);
  if (failed) return path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    const fs::path whole = fs::weakly_canonical(at, failed);
    if (failed) break;
    // A dangling link is left as it is.
    if (!is_link(whole)) return whole.string();
    at = behind_link(whole);
  }
  return at.lexically_normal().string();
}

bool replaces(const std::string& written, const std::string& read) {
  std::error_code ignored;
  if (written == "-") return false;
  if (read == "-") return is_standard_input(written);
  if (!fs::is_regular_file(read, ignored)) return false;
  return whole_path(written) == whole_path(read);
}

bool is_standard_output(const std::string& path) {
  if (path == "-") return true;
  std::error_code failed;
  fs::path at = fs::absolute(path, failed);
  for (int links = 0; !failed && links <= kMaxLinks; ++links) {
    if (!is_link(at)) return false;
    if (at.filename() == "1") {
      const fs::path folder = fs::canonical(at.parent_path(), failed);
      for (const char* descriptors : {"/proc/self/fd", "/proc/thread-self/fd"}) {
        std::error_code absent;
        if (!failed && folder == fs::canonical(descriptors, absent) && !absent) return true;
      }
    }
    at = behind_link(at);
  }
  return false;
}

}  // namespace felsite::tool
