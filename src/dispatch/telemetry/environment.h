// Reads the environment. Nothing else in the library does: what is not in the table is not read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "felsite/environment.h"

namespace felsite::dispatch {

// In the order of environment_variables().
enum class Variable : std::uint8_t { Device, Validation, CacheDir, Dump };
inline constexpr std::size_t kVariableCount = static_cast<std::size_t>(Variable::Dump) + 1;

// Its value now; one that is empty counts as not set.
std::optional<std::string> environment(Variable variable);

// Where caches go if nothing else is said: ${XDG_CACHE_HOME:-~/.cache}/felsite. None without a
// home.
std::optional<std::string> default_cache_folder();

}  // namespace felsite::dispatch
