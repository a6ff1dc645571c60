#include "vk/kernel/pipeline_cache_file.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <cstring>
#include <system_error>

#include "base/bounded_read.h"
#include "base/durable_file.h"
#include "dispatch/telemetry/environment.h"

namespace felsite::vk {
namespace {

using base::OwnedFile;

// Before the data. A change of its meaning needs another magic word.
struct Header {
  std::uint64_t magic;
  std::uint64_t identity;  // hash of the identity
  std::uint64_t bytes;     // of the data
  std::uint64_t checksum;  // of the data
};
constexpr std::uint64_t kMagic = 0x3170'6970'736C'6566;  // "felspip1"

std::uint64_t hash_of(const void* data, std::size_t bytes) { return XXH3_64bits(data, bytes); }

// Why an open file or folder is not trusted; empty: only we can write it.
std::string_view distrust(const struct stat& status) {
  if (status.st_uid != geteuid()) return "belongs to another user";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "can be written by other users";
  return {};
}

struct Folder {
  OwnedFile file;
  int error = 0;         // of opening it
  std::string_view why;  // why it is not trusted
};

Folder open_folder(const std::filesystem::path& path) {
  Folder folder{OwnedFile(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0, {}};
  if (!folder.file) {
    folder.error = errno;
    return folder;
  }
  struct stat status {};
  if (fstat(folder.file.get(), &status) != 0) {
    folder.error = errno;
  } else {
    folder.why = distrust(status);
  }
  return folder;
}

// Makes the folder and its parent, such as ~/.cache/felsite, for this user only.
int make_folder(const std::filesystem::path& folder) {
  if (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT) return errno;
  if (mkdir(folder.parent_path().c_str(), 0700) != 0 && errno != EEXIST) return errno;
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST ? 0 : errno;
}

CacheRead left_alone(const std::filesystem::path& what, std::string_view why) {
  return {.data = {},
          .warning = fmt::format("The pipeline cache {} {}; it is neither read nor written. Fix: "
                                 "remove it, or name another folder in FELSITE_CACHE_DIR.",
                                 what.string(), why),
          .may_replace = false};
}

constexpr std::string_view kNameAnother =
    "name a folder of your own with room in FELSITE_CACHE_DIR, or `off` there.";

std::string unwritten(const std::filesystem::path& file, std::string_view why,
                      std::string_view fix = kNameAnother) {
  return fmt::format("The pipeline cache {} cannot be written: {}. Fix: {}", file.string(), why,
                     fix);
}

// Opens the file without following links, and without waiting for the writer of a pipe.
int open_file(int folder, const std::filesystem::path& file) {
  return openat(folder, file.filename().c_str(),
                O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
}

// Why a file, open or not, is not one of ours; empty: it is.
std::string_view oddity(int file, int error, struct stat& status) {
  if (file < 0) return error == ELOOP ? "is a symbolic link" : "cannot be opened";
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return "is not a regular file";
  return distrust(status);
}

}  // namespace

std::string cache_identity(const DeviceSnapshot& device) {
  return fmt::format("felsite {} / {} / {} {} {:#x} / {:#x} / {}", FELSITE_VERSION, device.name,
                     device.driver_name, device.driver_info, device.driver_version,
                     device.api_version, device.uuid);
}

std::optional<std::filesystem::path> cache_folder() {
  const auto named = dispatch::environment(dispatch::Variable::CacheDir);
  if (named) return *named == "off" ? std::nullopt : std::optional<std::filesystem::path>(*named);
  const auto usual = dispatch::default_cache_folder();
  if (!usual) return std::nullopt;
  // It and its parent are made if they are missing, but no folder above these.
  std::filesystem::path folder = *usual;
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder.parent_path().parent_path(), ignored)) return {};
  return folder;
}

std::filesystem::path cache_file(const std::filesystem::path& folder, std::string_view identity) {
  return folder / fmt::format("pipelines-{:016x}.bin", hash_of(identity.data(), identity.size()));
}

CacheRead read_cache(const std::filesystem::path& path, std::string_view identity) {
  const Folder folder = open_folder(path.parent_path());
  if (!folder.file) return {};  // a write will report what is wrong
  if (!folder.why.empty()) return left_alone(path.parent_path(), folder.why);
  const OwnedFile file(open_file(folder.file.get(), path));
  const int error = errno;
  if (!file && error == ENOENT) return {};
  struct stat status {};
  if (const auto odd = oddity(file.get(), error, status); !odd.empty()) {
    return left_alone(path, odd);
  }

  const auto damaged = [&](std::string_view why) {
    return CacheRead{
        .data = {},
        .warning = fmt::format("The pipeline cache {} {}; it is ignored and will be replaced. Fix: "
                               "none is needed; remove the file if this warning comes back.",
                               path.string(), why)};
  };
  const auto read = [&](void* to, std::size_t bytes) {
    std::size_t count = 0;
    const int failed = base::read_up_to(file.get(), {static_cast<char*>(to), bytes}, count);
    return failed == 0 && count == bytes;
  };
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > sizeof(Header) + kMaxPipelineCacheBytes) {
    return damaged(fmt::format("is longer than {} MiB", kMaxPipelineCacheBytes >> 20));
  }
  Header header{};
  if (!read(&header, sizeof header)) return damaged("is too short");
  if (header.magic != kMagic) return damaged("is not a cache of this version");
  if (header.identity != hash_of(identity.data(), identity.size())) {
    return damaged("belongs to another device or driver");
  }
  // Checked first, so that a wrong length cannot cause a large allocation.
  if (size - sizeof header != header.bytes) return damaged("has the wrong length");
  Bytes data(header.bytes);
  if (!read(data.data(), data.size())) return damaged("is too short");
  if (hash_of(data.data(), data.size()) != header.checksum) return damaged("is damaged");
  return {.data = std::move(data), .warning = {}};
}

std::string write_cache(const std::filesystem::path& path, std::string_view identity,
                        ByteSpan data) {
  if (data.size() > kMaxPipelineCacheBytes) {
    return unwritten(path,
                     fmt::format("it would be longer than {} MiB", kMaxPipelineCacheBytes >> 20),
                     "set FELSITE_CACHE_DIR to `off` for programs with so many kernels.");
  }
  if (const int failed = make_folder(path.parent_path()); failed != 0) {
    return unwritten(path, std::strerror(failed));
  }
  const Folder folder = open_folder(path.parent_path());
  if (folder.error != 0) return unwritten(path, std::strerror(folder.error));
  if (!folder.why.empty()) return unwritten(path, fmt::format("its folder {}", folder.why));
  {
    const OwnedFile old(open_file(folder.file.get(), path));
    const int error = errno;
    struct stat status {};
    const bool is_there = old || error != ENOENT;
    const std::string_view odd = is_there ? oddity(old.get(), error, status) : "";
    if (!odd.empty()) {
      return unwritten(path, fmt::format("what is there {}", odd));
    }
  }
  const Header header{kMagic, hash_of(identity.data(), identity.size()), data.size(),
                      hash_of(data.data(), data.size())};
  // Not synced: a power cut may leave a damaged file, which the next reader detects.
  const int failed = base::replace_in_folder(folder.file.get(), path.filename().string(),
                                             {std::as_bytes(std::span(&header, 1)), data},
                                             {.fresh_mode = 0600, .sync = false});
  return failed == 0 ? "" : unwritten(path, std::strerror(failed));
}

void tidy_cache(const std::filesystem::path& file) {
  const Folder folder = open_folder(file.parent_path());
  if (folder.file && folder.why.empty()) base::remove_left_behind(folder.file.get());
}

}  // namespace felsite::vk
