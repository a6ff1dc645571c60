// Reads the environment. Nothing else in the library does, and only variables of the table are
// read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "felsite/environment.h"

namespace felsite::dispatch {

// In the order of environment_variables().
enum class Variable : std::uint8_t { Device, Validation, CacheDir, Dump };
inline constexpr std::size_t kVariableCount = static_cast<std::size_t>(Variable::Dump) + 1;

// Its current value; an empty one counts as unset.
std::optional<std::string> environment(Variable variable);

// The default folder of caches: ${XDG_CACHE_HOME:-~/.cache}/felsite. None without a home.
std::optional<std::string> default_cache_folder();

}  // namespace felsite::dispatch
