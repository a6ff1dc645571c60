#include "dispatch/telemetry/environment.h"

#include <array>
#include <cstdlib>

namespace felsite {
namespace {

struct Row {
  dispatch::Variable variable;
  EnvironmentVariable text;
};

constexpr std::array<EnvironmentVariable, dispatch::kVariableCount> in_order(
    const std::array<Row, dispatch::kVariableCount>& rows) {
  std::array<EnvironmentVariable, dispatch::kVariableCount> table{};
  for (const Row& row : rows) table[static_cast<std::size_t>(row.variable)] = row.text;
  return table;
}

constexpr auto kVariables = in_order({{
    {dispatch::Variable::Device,
     {"FELSITE_DEVICE", "POSITION, NAME or UUID",
      "Which device to take where the program does not say: its position, part of its name, or at "
      "least 8 digits of its UUID"}},
    {dispatch::Variable::Validation,
     {"FELSITE_VALIDATION", "1 or sync",
      "Turns the validation layer on, which reports on standard error what it finds; sync also "
      "looks for hazards between commands"}},
    {dispatch::Variable::CacheDir,
     {"FELSITE_CACHE_DIR", "FOLDER or off",
      "Where compiled pipelines are kept from one run to the next; by default "
      "${XDG_CACHE_HOME:-~/.cache}/felsite"}},
    {dispatch::Variable::Dump,
     {"FELSITE_DUMP", "FOLDER",
      "Writes program, SPIR-V and plan of each kernel that is made ready into the folder"}},
}});

}  // namespace

std::span<const EnvironmentVariable> environment_variables() { return kVariables; }

namespace dispatch {

namespace {

std::optional<std::string> value_of(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> environment(Variable variable) {
  // The names are literals, so they are null-terminated.
  return value_of(kVariables[static_cast<std::size_t>(variable)].name.data());
}

std::optional<std::string> default_cache_folder() {
  if (const auto cache = value_of("XDG_CACHE_HOME")) return *cache + "/felsite";
  if (const auto home = value_of("HOME")) return *home + "/.cache/felsite";
  return std::nullopt;
}

}  // namespace dispatch
}  // namespace felsite
