// One scenario after the other with each of Felsite's own allocations of host memory failing once,
// and what must hold then: an error that says so or the right result, nothing thrown, nothing lost,
// no lock held, and a backend that works.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "allocations/allocation_faults.h"
#include "faults/fault_walk.h"
#include "faults/scenarios.h"

namespace felsite::test {

// What the scenarios run on.
struct Subject {
  std::string_view name;
  bool has_device = false;
  Result<std::unique_ptr<Backend>> (*open)(const Scenario& scenario);
  AtRest (*rest)(Backend& backend);
};
Subject reference_subject();
// Needs a FaultyInstance: the objects of the device are counted.
Subject vulkan_subject();

// Which allocations fail: all of them, alone and with all that follow; or one for each place in the
// code, a place being the whole stack of calls up to the test, in one of these two ways.
enum class Extent : std::uint8_t { All, PlacesOfEachScenario, Places };
// What a device has time for. FELSITE_ALLOCATIONS=all in the environment means all.
Extent extent_on_device();

struct AllocationWalk {
  Subject subject;
  Extent extent = Extent::All;
  long allocations = 0;  // of all scenarios
  long walked = 0;
  long faults = 0;  // injected: a walked one fails alone, or with all that follow
  long errors = 0;
  long overcome = 0;
  std::unordered_set<host_memory::Place> places{};
};

void walk_allocations(const Scenario& scenario, AllocationWalk& seen);
void report(const AllocationWalk& seen);

}  // namespace felsite::test
