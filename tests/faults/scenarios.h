// Pieces of work that together make every call to Vulkan that the backend can make.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "felsite/backend.h"

namespace felsite::test {

struct Scenario {
  std::string_view name;
  // Opens nothing, frees all it allocates on every path, and checks what it gets.
  Result<void> (*run)(Backend& backend);
  // What the scenario itself ends with when nothing fails; most end well.
  std::optional<ErrorCode> ends_with{};
};
std::span<const Scenario> scenarios();

// The shortest dispatch: for a look whether the backend works.
Result<void> run_small_dispatch(Backend& backend);

}  // namespace felsite::test
