// The environment variables that Felsite reads, as one table for help texts and documents.
#pragma once

#include <span>
#include <string_view>

namespace felsite {

struct EnvironmentVariable {
  std::string_view name;
  std::string_view takes;  // its values, briefly
  std::string_view about;  // a sentence without its full stop
};
std::span<const EnvironmentVariable> environment_variables();

}  // namespace felsite
