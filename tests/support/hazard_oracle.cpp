#include "support/hazard_oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

namespace felsite::dispatch {
namespace {

constexpr Stage kStages[kStageCount] = {Stage::Compute, Stage::Transfer, Stage::Indirect,
                                        Stage::Host, Stage::Condition};

const std::vector<PlannedStep>& steps_of(const SequencePlan& sequence, Section section) {
  switch (section) {
    case Section::Prologue:
      return sequence.prologue;
    case Section::Block:
      return sequence.block;
    case Section::Epilogue:
      break;
  }
  return sequence.epilogue;
}

std::string_view name_of(Section section) {
  switch (section) {
    case Section::Prologue:
      return "prologue";
    case Section::Block:
      return "block";
    case Section::Epilogue:
      break;
  }
  return "epilogue";
}

// Replays the sequence as a device would, and compares each access with all before it that
// the barriers so far have not ordered before its stage.
class Replay {
 public:
  explicit Replay(const BarrierPlan& plan) {
    for (const PlannedBarrier& barrier : plan.barriers) {
      barriers_[{barrier.section, barrier.before}].push_back(&barrier);
    }
  }

  void run(Section section, std::uint32_t run, const std::vector<PlannedStep>& steps) {
    for (std::uint32_t step = 0; step < steps.size(); ++step) {
      iteration_barriers(section, step);
      make_accesses({section, run, step}, steps[step].accesses);
    }
    iteration_barriers(section, static_cast<std::uint32_t>(steps.size()));
  }

  std::vector<Hazard> take_hazards() { return std::move(hazards_); }

 private:
  // An access that has been made; `time` is the number of its step in the replay, from 1.
  struct Past {
    std::uint64_t time;
    StepPlace place;
    std::uint64_t begin;
    std::uint64_t end;
  };
  // Accesses to one buffer, by stage, in order of time.
  struct History {
    std::array<std::vector<Past>, kStageCount> writes;
    std::array<std::vector<Past>, kStageCount> reads;
  };
  // By the stage before the barrier and the stage after it: steps up to this time are done.
  using Times = std::array<std::array<std::uint64_t, kStageCount>, kStageCount>;

  static std::size_t index(Stage stage) { return static_cast<std::size_t>(stage); }

  void iteration_barriers(Section section, std::uint32_t before) {
    const auto here = barriers_.find({section, before});
    if (here == barriers_.end()) return;
    for (const PlannedBarrier* barrier : here->second) {
      for (const Stage from : kStages) {
        for (const Stage to : kStages) {
          if (!barrier->from.has(from) || !barrier->to.has(to)) continue;
          ended_[index(from)][index(to)] = time_;
          if (barrier->writes_from.has(from)) seen_[index(from)][index(to)] = time_;
        }
      }
    }
  }

  void make_accesses(StepPlace place, const std::vector<BufferAccess>& accesses) {
    ++time_;
    for (const BufferAccess& access : accesses) {
      if (access.begin < access.end) check(place, access);
    }
    for (const BufferAccess& access : accesses) {
      if (access.begin >= access.end) continue;
      History& history = histories_[access.buffer];
      (access.writes ? history.writes : history.reads)[index(access.stage)].push_back(
          {time_, place, access.begin, access.end});
    }
  }

  void check(StepPlace place, const BufferAccess& access) {
    const History& history = histories_[access.buffer];
    for (const Stage from : kStages) {
      const std::size_t to = index(access.stage);
      compare(place, access, history.writes[index(from)], true, seen_[index(from)][to]);
      if (access.writes) {
        compare(place, access, history.reads[index(from)], false, ended_[index(from)][to]);
      }
    }
  }

  void compare(StepPlace place, const BufferAccess& access, const std::vector<Past>& pasts,
               bool past_writes, std::uint64_t ordered) {
    for (auto past = pasts.rbegin(); past != pasts.rend() && past->time > ordered; ++past) {
      const std::uint64_t begin = std::max(past->begin, access.begin);
      const std::uint64_t end = std::min(past->end, access.end);
      if (begin >= end) continue;
      hazards_.push_back(
          {past->place, place, access.buffer, begin, end, past_writes, access.writes});
    }
  }

  std::map<std::pair<Section, std::uint32_t>, std::vector<const PlannedBarrier*>> barriers_;
  std::map<std::uint32_t, History> histories_;
  Times ended_{};
  Times seen_{};
  std::uint64_t time_ = 0;
  std::vector<Hazard> hazards_;
};

std::string describe(const StepPlace& place, const SequencePlan& sequence) {
  const std::vector<PlannedStep>& steps = steps_of(sequence, place.section);
  std::string text = fmt::format("step {}", place.step);
  if (place.step < steps.size()) text += fmt::format(" `{}`", steps[place.step].name);
  text += fmt::format(" of the {}", name_of(place.section));
  if (place.section == Section::Block) text += fmt::format(" (run {})", place.run);
  return text;
}

std::string_view kind_of(const Hazard& hazard) {
  if (!hazard.earlier_writes) return "WAR";
  return hazard.later_writes ? "WAW" : "RAW";
}

}  // namespace

std::vector<Hazard> find_hazards(const SequencePlan& sequence, const BarrierPlan& barriers) {
  Replay replay(barriers);
  replay.run(Section::Prologue, 0, sequence.prologue);
  // Two runs meet all that many can meet: steps farther apart have more barriers between them, not
  // fewer. The third is there so that a second run that is not the last one is seen as well.
  for (std::uint32_t run = 0; run < std::min(sequence.count, 3u); ++run) {
    replay.run(Section::Block, run, sequence.block);
  }
  replay.run(Section::Epilogue, 0, sequence.epilogue);
  return replay.take_hazards();
}

std::string to_string(const Hazard& hazard, const SequencePlan& sequence) {
  return fmt::format(
      "{} on bytes [{}, {}) of buffer {}: {} {} them, {} {} them, and no barrier orders the two.",
      kind_of(hazard), hazard.begin, hazard.end, hazard.buffer, describe(hazard.earlier, sequence),
      hazard.earlier_writes ? "writes" : "reads", describe(hazard.later, sequence),
      hazard.later_writes ? "writes" : "reads");
}

}  // namespace felsite::dispatch
