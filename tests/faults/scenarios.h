// Pieces of work that together make every call to Vulkan that the backend can make.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "felsite/backend.h"

namespace felsite::test {

struct Scenario {
  std::string_view name;
  // Opens nothing, frees all it allocates on every path, and checks what it gets.
  Result<void> (*run)(Backend& backend);
  // What the scenario itself ends with when nothing fails; most end well.
  std::optional<ErrorCode> ends_with{};
  // Opening the backend makes the same calls each time, so one scenario has the faults there.
  bool faults_in_opening = false;
  // The backend keeps its pipelines on disk.
  bool has_cache_file = false;
  // The backend is shut down then.
  bool closes = false;
  // A wait that times out means that the work never ends, and all that it uses has to stay.
  bool has_no_timeouts = false;
  // What one dispatch of the device takes, on each axis.
  std::uint32_t most_workgroups = UINT32_MAX;
  // It inspects the Vulkan backend, or needs what only that one has.
  bool needs_device = false;
  // Each call fails with one of its results, not with all of them.
  bool takes_long = false;
};

// All of them, with those that have grid barriers or iterations.
std::vector<Scenario> scenarios();
std::vector<Scenario> grid_scenarios();

// The shortest dispatch, to see whether the backend works.
Result<void> run_small_dispatch(Backend& backend);

}  // namespace felsite::test
