// Reads files to their end, but never more than a limit: something that is not a plain file may
// never end. Inline for the reason that durable_file.h gives.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <span>
#include <string>

namespace felsite::base {

// Reads as much as there is, up to the whole span; returns an errno.
inline int read_up_to(int file, std::span<char> bytes, std::size_t& count) {
  for (count = 0; count < bytes.size();) {
    const ssize_t read = ::read(file, bytes.data() + count, bytes.size() - count);
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return errno;
    if (read == 0) break;
    count += static_cast<std::size_t>(read);
  }
  return 0;
}

struct ReadLimits {
  std::uint64_t file = 0;    // for a plain file, which has a size
  std::uint64_t stream = 0;  // for everything else
};

// Returns 0, EFBIG if there is more than the limit, which `limit` then holds, or another errno. It
// allocates no memory for bytes that do not exist.
inline int read_to_end(int file, const ReadLimits& limits, std::string& bytes,
                       std::uint64_t& limit) {
  struct stat status {};
  if (fstat(file, &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  const bool is_plain = S_ISREG(status.st_mode);
  limit = is_plain ? limits.file : limits.stream;
  const std::uint64_t size = is_plain ? static_cast<std::uint64_t>(status.st_size) : 0;
  if (size > limit) return EFBIG;
  bytes.clear();
  // Reading one byte more than expected shows the end. Files in /proc claim to be empty.
  std::uint64_t wanted = std::max<std::uint64_t>(size + 1, 1 << 16);
  while (true) {
    const std::size_t before = bytes.size();
    bytes.resize(static_cast<std::size_t>(std::min(wanted, limit + 1)));
    std::size_t count = 0;
    const int failed = read_up_to(file, std::span(bytes).subspan(before), count);
    const bool ended = before + count < bytes.size();
    bytes.resize(before + count);
    if (failed != 0) return failed;
    if (ended) return 0;
    if (bytes.size() > limit) return EFBIG;
    wanted = bytes.size() * std::uint64_t{2};
  }
}

}  // namespace felsite::base
