// One scenario after the other with each of Felsite's own allocations of host memory failing once,
// and what must hold then: an error that says so or the right result, nothing thrown, nothing lost,
// no lock held, and a backend that works.
#pragma once

#include <chrono>
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

struct AllocationWalk {
  Subject subject;
  // How long the failing runs of one scenario may take, all together. What does not fit is left
  // out, but each place in the code fails; and what fails is spread evenly over the rest.
  std::chrono::milliseconds most_time{};
  // Only places that no earlier scenario had fail: for drivers that are slow.
  bool only_new_places = false;
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
