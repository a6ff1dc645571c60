// Programs that do one thing and end: what a process of felsite-bench does for the rows that
// measure whole processes. Each gives an exit code.
#pragma once

#include <filesystem>
#include <string_view>

#include "raw_vulkan.h"

namespace felsite::bench {

// Where the row leaves the module of the raw program: it would not be compiled at run time.
inline constexpr std::string_view kModuleFile = "module.spv";

// One small dispatch, with a pipeline cache in a folder. The one of Felsite takes the folder from
// FELSITE_CACHE_DIR.
int cold_start_felsite();
int cold_start_raw(const std::filesystem::path& folder, const RawChoice& choice);

// One dispatch of saxpy from host memory to host memory. Both print the most memory that the
// process had, in bytes, and a sum of the result.
int peak_felsite(std::uint32_t elements);
int peak_raw(const std::filesystem::path& folder, const RawChoice& choice, std::uint32_t elements);

}  // namespace felsite::bench
