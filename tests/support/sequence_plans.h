// Sequences of steps made by hand and at random, and barriers as text.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "dispatch/barriers/barrier_plan.h"
#include "dispatch/barriers/sequence_plan.h"

namespace felsite::test {

using dispatch::BarrierPlan;
using dispatch::BufferAccess;
using dispatch::PlannedBarrier;
using dispatch::PlannedStep;
using dispatch::Section;
using dispatch::SequencePlan;
using dispatch::Stage;
using dispatch::StageSet;

inline constexpr Stage kAllStages[] = {Stage::Compute, Stage::Transfer, Stage::Indirect,
                                       Stage::Host, Stage::Condition};
inline constexpr const char* kStageNames[] = {"compute", "transfer", "indirect", "host",
                                              "condition"};
inline constexpr const char* kSectionNames[] = {"prologue", "block", "epilogue"};

inline BufferAccess reads(std::uint32_t buffer, std::uint64_t begin, std::uint64_t end,
                          Stage stage = Stage::Compute) {
  return {buffer, begin, end, stage, false};
}
inline BufferAccess writes(std::uint32_t buffer, std::uint64_t begin, std::uint64_t end,
                           Stage stage = Stage::Compute) {
  return {buffer, begin, end, stage, true};
}

inline PlannedStep step_of(std::vector<BufferAccess> accesses) {
  return {"hand-made", std::move(accesses)};
}

// Whole buffers of 64 bytes.
inline PlannedStep step_of(Stage stage, std::initializer_list<std::uint32_t> read,
                           std::initializer_list<std::uint32_t> written) {
  PlannedStep step{"hand-made", {}};
  for (const std::uint32_t buffer : read) step.accesses.push_back(reads(buffer, 0, 64, stage));
  for (const std::uint32_t buffer : written) step.accesses.push_back(writes(buffer, 0, 64, stage));
  return step;
}
inline PlannedStep kernel(std::initializer_list<std::uint32_t> read,
                          std::initializer_list<std::uint32_t> written) {
  return step_of(Stage::Compute, read, written);
}
inline PlannedStep transfer(std::initializer_list<std::uint32_t> read,
                            std::initializer_list<std::uint32_t> written) {
  return step_of(Stage::Transfer, read, written);
}

// A sequence that is only a prologue.
inline SequencePlan line(std::vector<PlannedStep> steps) { return {std::move(steps), {}, 1, {}}; }

// A barrier as "block 2: compute! transfer -> compute": it stands before step 2 of the block, and
// what the stages with a mark wrote is seen.
inline std::string text_of(const PlannedBarrier& barrier) {
  std::string text = fmt::format("{} {}:", kSectionNames[static_cast<std::size_t>(barrier.section)],
                                 barrier.before);
  for (const Stage stage : kAllStages) {
    if (!barrier.from.has(stage)) continue;
    text += fmt::format(" {}{}", kStageNames[static_cast<std::size_t>(stage)],
                        barrier.writes_from.has(stage) ? "!" : "");
  }
  text += " ->";
  for (const Stage stage : kAllStages) {
    if (barrier.to.has(stage)) text += fmt::format(" {}", kStageNames[static_cast<int>(stage)]);
  }
  return text;
}

inline std::string text_of(const BarrierPlan& plan) {
  std::string text;
  for (const PlannedBarrier& barrier : plan.barriers) text += text_of(barrier) + "\n";
  return text;
}

inline std::string text_of(const SequencePlan& sequence) {
  std::string text = fmt::format("the block runs {} times\n", sequence.count);
  const std::vector<PlannedStep>* const sections[] = {&sequence.prologue, &sequence.block,
                                                      &sequence.epilogue};
  for (std::size_t section = 0; section < 3; ++section) {
    for (std::size_t step = 0; step < sections[section]->size(); ++step) {
      text += fmt::format("{} {}:", kSectionNames[section], step);
      for (const BufferAccess& access : (*sections[section])[step].accesses) {
        text += fmt::format(
            " {} {} {}[{}, {})", kStageNames[static_cast<std::size_t>(access.stage)],
            access.writes ? "writes" : "reads", access.buffer, access.begin, access.end);
      }
      text += "\n";
    }
  }
  return text;
}

inline StageSet without(StageSet set, Stage removed) {
  StageSet rest;
  for (const Stage stage : kAllStages) {
    if (stage != removed && set.has(stage)) rest |= stage;
  }
  return rest;
}

// Few buffers and short ranges, so that steps conflict in many ways. The same seed gives the same
// sequence everywhere.
class RandomSequence {
 public:
  explicit RandomSequence(std::uint64_t seed)
      : engine_(seed),
        buffers_(1 + below(8)),
        bytes_(1 + below(8)),
        stages_(1 + below(dispatch::kStageCount)),
        most_accesses_(1 + below(4)),
        one_writes_in_(1 + below(6)),
        most_steps_(1 + below(10)) {}

  SequencePlan sequence() {
    constexpr std::uint32_t kCounts[] = {0, 1, 2, 3, 1000};
    SequencePlan sequence;
    sequence.prologue = section();
    sequence.block = section();
    sequence.count = kCounts[below(5)];
    sequence.epilogue = section();
    return sequence;
  }

  // Anything at all: places that are not there, too.
  BarrierPlan barriers() {
    BarrierPlan plan;
    for (std::uint32_t i = below(8); i > 0; --i) {
      PlannedBarrier barrier;
      barrier.section = static_cast<Section>(below(3));
      barrier.before = below(most_steps_ + 2);
      barrier.from = stages();
      barrier.writes_from = stages();
      barrier.to = stages();
      plan.barriers.push_back(barrier);
    }
    return plan;
  }

 private:
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
  StageSet stages() {
    StageSet set;
    for (const Stage stage : kAllStages) {
      if (below(2) == 0) set |= stage;
    }
    return set;
  }
  std::vector<PlannedStep> section() {
    std::vector<PlannedStep> steps(below(most_steps_ + 1));
    for (PlannedStep& step : steps) {
      step.name = "random";
      step.accesses.resize(below(most_accesses_ + 1));
      for (BufferAccess& access : step.accesses) access = any_access();
    }
    return steps;
  }
  BufferAccess any_access() {
    BufferAccess access{below(buffers_), below(bytes_), 0, kAllStages[below(stages_)],
                        below(one_writes_in_) == 0};
    // Now and then a range is empty or ends before it begins.
    access.end = below(8) == 0 ? below(bytes_) : access.begin + 1 + below(bytes_);
    return access;
  }

  std::mt19937_64 engine_;
  std::uint32_t buffers_;
  std::uint32_t bytes_;
  std::uint32_t stages_;
  std::uint32_t most_accesses_;
  std::uint32_t one_writes_in_;
  std::uint32_t most_steps_;
};

// FELSITE_SEED=n runs the one sequence of that seed.
template <class Check>
void for_seeds(std::uint64_t count, Check check) {
  if (const char* one = std::getenv("FELSITE_SEED")) {
    check(std::strtoull(one, nullptr, 0));
    return;
  }
  for (std::uint64_t seed = 1; seed <= count; ++seed) check(seed);
}

}  // namespace felsite::test
