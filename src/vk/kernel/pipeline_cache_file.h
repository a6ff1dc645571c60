// The file that keeps compiled pipelines from one process to the next.
//
// It is checked when read (device, length, checksum) and replaced as a whole when written, so that
// a reader never sees half a file, however many processes write at once. Drivers trust their cache
// data, so a file that another user may have written is not used.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "felsite/dispatch.h"
#include "felsite/error.h"
#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// Larger caches are neither read nor written, nor kept in memory.
inline constexpr std::uint64_t kMaxPipelineCacheBytes = std::uint64_t{64} << 20;

// What a cache is valid for: the device, its driver and their versions, as text.
std::string cache_identity(const DeviceSnapshot& device);
// FELSITE_CACHE_DIR, or the user's cache folder. None if that is `off`, or if the user has no home:
// on Debian it is then /nonexistent, which must not be made.
std::optional<std::filesystem::path> cache_folder();
// One file for each identity.
std::filesystem::path cache_file(const std::filesystem::path& folder, std::string_view identity);

struct CacheRead {
  Bytes data;           // data of Vulkan; empty if there is no file, or no valid one
  std::string warning;  // why an existing file was not used; empty: no problem
  // Whether the next write may replace what is there. False if file or folder is not ours: then
  // there is no cache.
  bool may_replace = true;
};
// Never blocks, whatever kind of file it is.
CacheRead read_cache(const std::filesystem::path& file, std::string_view identity);
// Makes the folder and its parent if they are missing. Returns a warning, or nothing. Does not
// write more than kMaxPipelineCacheBytes.
std::string write_cache(const std::filesystem::path& file, std::string_view identity,
                        ByteSpan data);
// Removes what killed writers left in the folder of the file.
void tidy_cache(const std::filesystem::path& file);

}  // namespace felsite::vk
