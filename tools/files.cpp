#include "files.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

namespace felsite::tool {
namespace {

Error file_error(const std::string& path, std::string_view what) {
  return Error{.code = ErrorCode::BadInputs,
               .message = fmt::format("Cannot {} `{}`: {}.", what, path, std::strerror(errno)),
               .fix = "check the path and its permissions.",
               .context = {}};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  errno = 0;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    errno = EISDIR;
    return std::unexpected(file_error(path, "read"));
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return std::unexpected(file_error(path, "read"));
  // A pipe has no size; it is read to its end.
  const std::streamoff size = file.tellg();
  file.clear();
  file.seekg(0);
  file.clear();
  std::string text;
  if (size > 0) {
    text.resize(static_cast<std::size_t>(size));
    file.read(text.data(), size);
    text.resize(static_cast<std::size_t>(file.gcount()));
  } else {
    text.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  if (file.bad()) return std::unexpected(file_error(path, "read"));
  return text;
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return {};
  }
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return std::unexpected(file_error(path, "write"));
  return {};
}

}  // namespace felsite::tool
