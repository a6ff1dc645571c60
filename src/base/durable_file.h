// Files that are replaced as a whole: every reader, even after a kill or on a full disk, finds the
// old contents or the new ones, and never a part.
//
// Everything here is inline: the library and the command both use it, and the command sees only
// what the library exports.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace felsite::base {

class OwnedFile {
 public:
  explicit OwnedFile(int descriptor = -1) : descriptor_(descriptor) {}
  OwnedFile(OwnedFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  OwnedFile& operator=(OwnedFile&&) = delete;
  ~OwnedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }
  // Returns an errno, or 0: some file systems report only here that there is no space.
  int close() { return ::close(std::exchange(descriptor_, -1)) == 0 ? 0 : errno; }

 private:
  int descriptor_;
};

using FilePieces = std::initializer_list<std::span<const std::byte>>;

// All functions return an errno, or 0.
inline int write_pieces(int file, FilePieces pieces) {
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const ssize_t written = ::write(file, piece.data(), piece.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      if (written == 0) return EIO;
      piece = piece.subspan(static_cast<std::size_t>(written));
    }
  }
  return 0;
}

inline constexpr std::string_view kTemporaryBegin = ".felsite-";
inline constexpr std::string_view kTemporaryEnd = ".tmp";

struct ReplaceOptions {
  mode_t fresh_mode = 0666;  // of a new file, minus the umask
  bool sync = true;          // makes it durable across a power cut
};

namespace detail {

// Random, since processes in containers that share a folder may have the same process id.
inline std::string temporary_name() {
  std::uint64_t random = 0;
  if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    random = static_cast<std::uint64_t>(now.tv_nsec) ^ static_cast<std::uint64_t>(getpid()) << 32;
  }
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(random));
  return std::string(kTemporaryBegin) + digits.data() + std::string(kTemporaryEnd);
}

// Writing beyond this limit would raise a signal that ends the process.
inline int check_size_limit(FilePieces pieces) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  std::uint64_t left = limit.rlim_cur;
  for (const std::span<const std::byte> piece : pieces) {
    if (piece.size() > left) return EFBIG;
    left -= piece.size();
  }
  return 0;
}

// Some file systems cannot sync; the data is then as safe as it can be.
inline int sync(int file) {
  return ::fsync(file) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

// Keeps the owner and the mode of the replaced file. If the owner cannot be kept, nobody gains the
// rights that depend on it.
inline int keep_owner_and_mode(int file, const struct stat& old) {
  struct stat fresh {};
  if (fstat(file, &fresh) != 0) return errno;
  mode_t mode = old.st_mode & 07777;
  if (fresh.st_uid != old.st_uid || fresh.st_gid != old.st_gid) {
    if (fchown(file, old.st_uid, old.st_gid) != 0) mode &= 0777;
  }
  return fchmod(file, mode) == 0 ? 0 : errno;
}

}  // namespace detail

// Writes the file `name` in an open folder. It replaces what is there, even a symbolic link.
inline int replace_in_folder(int folder, const std::string& name, FilePieces pieces,
                             const ReplaceOptions& options, const struct stat* old = nullptr) {
  if (const int failed = detail::check_size_limit(pieces); failed != 0) return failed;
  std::string fresh_name;
  int descriptor = -1;
  for (int tries = 0; descriptor < 0 && tries < 16; ++tries) {
    fresh_name = detail::temporary_name();
    descriptor = openat(folder, fresh_name.c_str(),
                        O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options.fresh_mode);
    if (descriptor < 0 && errno != EEXIST) return errno;
  }
  OwnedFile file(descriptor);
  if (!file) return EEXIST;
  int failed = write_pieces(file.get(), pieces);
  if (failed == 0 && old != nullptr) failed = detail::keep_owner_and_mode(file.get(), *old);
  if (failed == 0 && options.sync) failed = detail::sync(file.get());
  if (const int closed = file.close(); failed == 0) failed = closed;
  if (failed == 0 && renameat(folder, fresh_name.c_str(), folder, name.c_str()) != 0) {
    failed = errno;
  }
  if (failed != 0) {
    unlinkat(folder, fresh_name.c_str(), 0);
    return failed;
  }
  return options.sync ? detail::sync(folder) : 0;
}

namespace detail {

// The final target of a path, which may be a file that does not exist yet. A descriptor of a
// process (/dev/stdout is one) is not a path to a file: `is_descriptor`.
struct Target {
  std::string path;
  bool is_descriptor = false;
};

inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

inline int follow_links(const std::string& path, Target& target) {
  constexpr long kProc = 0x9FA0;
  constexpr int kMaxLinks = 40;  // the kernel's own limit
  target.path = path;
  for (int links = 0; links <= kMaxLinks; ++links) {
    struct stat status {};
    if (lstat(target.path.c_str(), &status) != 0) return errno == ENOENT ? 0 : errno;
    if (!S_ISLNK(status.st_mode)) return 0;
    struct statfs system {};
    if (statfs(folder_of(target.path).c_str(), &system) == 0 && system.f_type == kProc) {
      target.is_descriptor = true;
      return 0;
    }
    std::array<char, 4096> link{};
    const ssize_t length = readlink(target.path.c_str(), link.data(), link.size());
    if (length < 0) return errno;
    const std::string to(link.data(), static_cast<std::size_t>(length));
    target.path = to.starts_with('/') ? to : folder_of(target.path) + "/" + to;
  }
  return ELOOP;
}

inline int write_in_place(const std::string& path, FilePieces pieces) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errno;
  // Others wrote the beginning of a file behind a descriptor.
  const int append = S_ISREG(status.st_mode) ? O_APPEND : 0;
  const OwnedFile file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | append));
  return file ? write_pieces(file.get(), pieces) : errno;
}

}  // namespace detail

// Replaces the target of a symbolic link and keeps the link. Devices, pipes and descriptors cannot
// be replaced, and are written directly.
inline int replace_file(const std::string& path, FilePieces pieces,
                        const ReplaceOptions& options = {}) {
  detail::Target target;
  if (const int failed = detail::follow_links(path, target); failed != 0) return failed;
  struct stat old {};
  const bool exists = stat(target.path.c_str(), &old) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(old.st_mode)) return EISDIR;
  if (target.is_descriptor || (exists && !S_ISREG(old.st_mode))) {
    return detail::write_in_place(target.path, pieces);
  }
  // A file that may not be written is not replaced either, although its folder would allow it.
  if (exists && faccessat(AT_FDCWD, target.path.c_str(), W_OK, AT_EACCESS) != 0) return errno;
  const std::string folder_path = detail::folder_of(target.path);
  const OwnedFile folder(open(folder_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return errno;
  const std::size_t slash = target.path.rfind('/');
  const std::string name = slash == std::string::npos ? target.path : target.path.substr(slash + 1);
  if (name.empty()) return exists ? EISDIR : ENOENT;
  return replace_in_folder(folder.get(), name, pieces, options, exists ? &old : nullptr);
}

// Removes temporary files in an open folder that killed writers left behind. Younger ones may
// belong to a running writer.
inline void remove_left_behind(int folder, std::time_t older_than_seconds = 3600) {
  const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return;
  DIR* const entries = fdopendir(copy);
  if (entries == nullptr) {
    ::close(copy);
    return;
  }
  const std::time_t now = std::time(nullptr);
  while (const dirent* const entry = readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kTemporaryBegin) || !name.ends_with(kTemporaryEnd)) continue;
    struct stat status {};
    if (fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool is_ours = S_ISREG(status.st_mode) && status.st_uid == geteuid();
    if (is_ours && now - status.st_mtime > older_than_seconds) unlinkat(folder, entry->d_name, 0);
  }
  closedir(entries);
}

}  // namespace felsite::base
