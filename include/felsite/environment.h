// The environment variables that Felsite reads: one table, for help and documents.
#pragma once

#include <span>
#include <string_view>

namespace felsite {

struct EnvironmentVariable {
  std::string_view name;
  std::string_view takes;  // its values, in short
  std::string_view about;  // a sentence without its full stop
};
std::span<const EnvironmentVariable> environment_variables();

}  // namespace felsite
