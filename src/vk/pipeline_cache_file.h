// The file that keeps compiled pipelines from one process to the next.
//
// It is checked when read (whose device it is for, its length, its checksum) and replaced as a
// whole when written, so that a reader never sees half a file, however many processes write at
// once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "felsite/dispatch.h"
#include "felsite/error.h"
#include "vk/device_snapshot.h"

namespace felsite::vk {

// What a cache belongs to: the device, its driver and their versions, as text.
std::string cache_identity(const DeviceSnapshot& device);
// Where FELSITE_CACHE_DIR wants it, or in the user's cache folder. None where it is `off`, or where
// there is no home to put it.
std::optional<std::filesystem::path> cache_folder();
// One file for each identity.
std::filesystem::path cache_file(const std::filesystem::path& folder, std::string_view identity);

struct CacheRead {
  Bytes data;           // what Vulkan gave; empty if there was no file, or no good one
  std::string warning;  // why a file that is there was not taken; empty: all is well
};
CacheRead read_cache(const std::filesystem::path& file, std::string_view identity);
// Makes the folder where there is none. What is wrong, or nothing.
std::string write_cache(const std::filesystem::path& file, std::string_view identity,
                        ByteSpan data);

}  // namespace felsite::vk
