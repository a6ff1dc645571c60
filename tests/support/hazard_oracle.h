// An independent model of what barriers order: replays a sequence with its barriers and finds every
// pair of conflicting accesses that nothing orders.
//
// It stands in for what no validation layer sees: two dispatches that change one buffer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dispatch/barriers/barrier_plan.h"
#include "dispatch/barriers/sequence_plan.h"

namespace felsite::dispatch {

struct StepPlace {
  Section section = Section::Prologue;
  std::uint32_t run = 0;  // of the block
  std::uint32_t step = 0;
  bool operator==(const StepPlace&) const = default;
};

struct Hazard {
  StepPlace earlier;
  StepPlace later;
  std::uint32_t buffer = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool earlier_writes = false;
  bool later_writes = false;
};

// All of them for the whole replay, with the block run as often as shows all it can show (at most
// three times). Empty: the plan is sound.
std::vector<Hazard> find_hazards(const SequencePlan& sequence, const BarrierPlan& barriers);

std::string to_string(const Hazard& hazard, const SequencePlan& sequence);

}  // namespace felsite::dispatch
