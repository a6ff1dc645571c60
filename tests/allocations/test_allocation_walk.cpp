// Every allocation of host memory that Felsite makes itself fails once, on both backends.
#include <doctest/doctest.h>

#include <cstdlib>

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

}  // namespace

TEST_CASE("every allocation of the reference backend fails once") {
  walk_all({.subject = reference_subject(), .most_time = std::chrono::seconds(1)});
}

TEST_CASE("every allocation of the Vulkan backend fails once") {
  const FaultyInstance instance;
  walk_all({.subject = vulkan_subject(),
            .most_time = std::chrono::seconds(1),
            .only_new_places = is_sparing()});
}
