// The file that keeps compiled pipelines from one process to the next.
//
// It is checked when read (whose device it is for, its length, its checksum) and replaced as a
// whole when written, so that a reader never sees half a file, however many processes write at
// once. Drivers trust what they are given: a file that somebody else may have written is not taken.
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

// More is neither read nor written, nor kept in memory.
inline constexpr std::uint64_t kMostPipelineCacheBytes = std::uint64_t{64} << 20;

// What a cache belongs to: the device, its driver and their versions, as text.
std::string cache_identity(const DeviceSnapshot& device);
// Where FELSITE_CACHE_DIR wants it, or in the user's cache folder. None where it is `off`, or where
// there is no home to put it: Debian's users without one have /nonexistent, which stays that.
std::optional<std::filesystem::path> cache_folder();
// One file for each identity.
std::filesystem::path cache_file(const std::filesystem::path& folder, std::string_view identity);

struct CacheRead {
  Bytes data;           // what Vulkan gave; empty if there was no file, or no good one
  std::string warning;  // why a file that is there was not taken; empty: all is well
  // Whether the next write may replace what is there. Not where it is no file of ours, or its
  // folder is not: then there is no cache.
  bool may_replace = true;
};
// Never waits, whatever lies there.
CacheRead read_cache(const std::filesystem::path& file, std::string_view identity);
// Makes the folder where there is none, and its parent. What is wrong, or nothing. More than
// kMostPipelineCacheBytes is not written.
std::string write_cache(const std::filesystem::path& file, std::string_view identity,
                        ByteSpan data);
// What killed writers left in the folder of the file.
void tidy_cache(const std::filesystem::path& file);

}  // namespace felsite::vk
