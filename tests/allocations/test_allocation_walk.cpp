// Every allocation of host memory that Felsite makes itself fails once, on both backends.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "allocations/allocation_walk.h"

using namespace felsite;
using namespace felsite::test;

namespace {

void walk_all(AllocationWalk seen) {
  const char* const chosen = std::getenv("FELSITE_FAULTS_SCENARIO");
  for (const Scenario& scenario : scenarios()) {
    if (chosen != nullptr && scenario.name != chosen) continue;
    if (scenario.needs_device && !seen.subject.has_device) continue;
    walk_allocations(scenario, seen);
  }
  report(seen);
  if (chosen == nullptr) CHECK(seen.errors > seen.overcome);
}

// File 2 of the process, which takes nothing as long as this object lives.
class FullStandardError {
 public:
  FullStandardError() : kept_(dup(STDERR_FILENO)) {
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    REQUIRE(full >= 0);
    REQUIRE(dup2(full, STDERR_FILENO) >= 0);
    close(full);
  }
  ~FullStandardError() {
    dup2(kept_, STDERR_FILENO);
    close(kept_);
    std::clearerr(stderr);
  }
  FullStandardError(const FullStandardError&) = delete;
  FullStandardError& operator=(const FullStandardError&) = delete;

 private:
  int kept_;
};

// A layer that is wanted and not there: each instance that is made gives a warning.
class MissingLayer {
 public:
  MissingLayer() {
    for (Variable& variable : variables_) {
      if (const char* const value = std::getenv(variable.name)) variable.before = value;
      setenv(variable.name, variable.value, 1);
    }
  }
  ~MissingLayer() {
    for (const Variable& variable : variables_) {
      if (variable.before) {
        setenv(variable.name, variable.before->c_str(), 1);
      } else {
        unsetenv(variable.name);
      }
    }
  }
  MissingLayer(const MissingLayer&) = delete;
  MissingLayer& operator=(const MissingLayer&) = delete;

 private:
  struct Variable {
    const char* name;
    const char* value;
    std::optional<std::string> before{};
  };
  std::array<Variable, 2> variables_{{{.name = "FELSITE_VALIDATION", .value = "1"},
                                      {.name = "VK_LAYER_PATH", .value = "/nonexistent"}}};
};

Result<std::unique_ptr<Backend>> open_with_own_instance(const Scenario&) {
  return vk::make_backend({.open = [] { return vk::open_device(); }, .cache_folder = {}});
}

// Nobody else has an instance open: it is made and destroyed in each run.
void walk_first_use() {
  const Subject vulkan = vulkan_subject();
  AllocationWalk seen{.subject = {.name = "vulkan with an instance of its own",
                                  .has_device = true,
                                  .open = open_with_own_instance,
                                  .rest = vulkan.rest},
                      .extent = extent_on_device()};
  walk_allocations({.name = "first use", .run = run_small_dispatch, .faults_in_opening = true},
                   seen);
  report(seen);
  CHECK(seen.errors > seen.overcome);
}

}  // namespace

TEST_CASE("every allocation of the reference backend fails once") {
  // The same on each driver: all of them once.
  walk_all({.subject = reference_subject(), .extent = is_sparing() ? Extent::Places : Extent::All});
}

TEST_CASE("every allocation of the Vulkan backend fails once") {
  const FaultyInstance instance;
  walk_all({.subject = vulkan_subject(), .extent = extent_on_device()});
}

TEST_CASE("every allocation of a backend that makes the instance fails once") { walk_first_use(); }

TEST_CASE("every allocation fails once while standard error cannot be written") {
  const MissingLayer layer;
  const FullStandardError full;
  walk_first_use();
}
