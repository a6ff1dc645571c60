// Two programs that do one small dispatch and end, each with a pipeline cache of its own in a
// folder: what a process of the tool does for the row about cold starts.
#pragma once

#include <filesystem>
#include <string_view>

#include "raw_vulkan.h"

namespace felsite::bench {

// Where the row leaves the module of the raw program: it would not be compiled at run time.
inline constexpr std::string_view kColdStartModule = "step.spv";

// Both give an exit code. The one of Felsite takes the folder from FELSITE_CACHE_DIR.
int cold_start_felsite();
int cold_start_raw(const std::filesystem::path& folder, const RawChoice& choice);

}  // namespace felsite::bench
