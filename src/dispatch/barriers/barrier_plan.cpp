// Folding conflicts into barriers.
//
// A conflict is served by a barrier with fitting stages anywhere between its two steps. Everything
// goes from the last step to the first. Places come first: where no barrier lies between a
// conflict's steps yet, a new one is put right after the earlier step. That gives the fewest
// barriers for a line of steps, each at its earliest place. Stages come second: a conflict that no
// later barrier fits widens the first barrier after its earlier step. Barriers before that one do
// not lie between the steps, so each stage of each barrier has a conflict that nothing else serves.
#include "dispatch/barriers/barrier_plan.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "dispatch/barriers/nearest_conflicts.h"

namespace felsite::dispatch {
namespace {

// Within this file `before` is a position in the whole line of steps; it becomes one in its section
// at the very end.
using Barriers = std::vector<PlannedBarrier>;
using Conflicts = std::vector<Conflict>;

constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();

// Whether its stages fit, wherever it is.
bool fits(const PlannedBarrier& barrier, const Conflict& conflict) {
  const StageSet from = conflict.earlier_writes ? barrier.writes_from : barrier.from;
  return from.has(conflict.from) && barrier.to.has(conflict.to);
}

void widen(PlannedBarrier& barrier, const Conflict& conflict) {
  barrier.from |= conflict.from;
  if (conflict.earlier_writes) barrier.writes_from |= conflict.from;
  barrier.to |= conflict.to;
}

// For each pair of stages and kind, the first and the last place of a barrier that fits.
class FittingPlaces {
 public:
  void add(const PlannedBarrier& barrier) {
    for (std::size_t from = 0; from < kStageCount; ++from) {
      for (std::size_t to = 0; to < kStageCount; ++to) {
        for (const bool writes : {false, true}) {
          const Conflict conflict{0, 0, static_cast<Stage>(from), static_cast<Stage>(to), writes};
          if (!fits(barrier, conflict)) continue;
          Ends& ends = ends_[from][to][writes];
          ends.first = std::min(ends.first, barrier.before);
          ends.last = std::max(ends.last, barrier.before);
        }
      }
    }
  }
  bool any(const Conflict& conflict) const { return ends(conflict).first != kNowhere; }
  bool any_up_to(const Conflict& conflict, std::uint32_t step) const {
    return ends(conflict).first <= step;
  }
  bool any_after(const Conflict& conflict, std::uint32_t step) const {
    return ends(conflict).last > step;
  }

 private:
  struct Ends {
    std::uint32_t first = kNowhere;
    std::uint32_t last = 0;  // 0 if there is none: place 0 is after no step
  };
  const Ends& ends(const Conflict& conflict) const {
    return ends_[static_cast<std::size_t>(conflict.from)][static_cast<std::size_t>(conflict.to)]
                [conflict.earlier_writes];
  }
  std::array<std::array<std::array<Ends, 2>, kStageCount>, kStageCount> ends_;
};

// Last first, like the conflicts.
std::vector<std::uint32_t> fewest_places(const Conflicts& conflicts) {
  std::vector<std::uint32_t> places;
  for (const Conflict& conflict : conflicts) {
    if (places.empty() || conflict.later < places.back()) places.push_back(conflict.earlier + 1);
  }
  return places;
}

// Every conflict has a place between its steps. First barrier first.
Barriers with_stages(const std::vector<std::uint32_t>& places, const Conflicts& conflicts) {
  Barriers barriers;
  FittingPlaces later_ones;
  for (const Conflict& conflict : conflicts) {
    while (barriers.size() < places.size() && places[barriers.size()] > conflict.earlier) {
      if (!barriers.empty()) later_ones.add(barriers.back());
      const std::uint32_t place = places[barriers.size()];
      barriers.emplace_back().before = place;
    }
    if (later_ones.any_up_to(conflict, conflict.later)) continue;
    if (!fits(barriers.back(), conflict)) widen(barriers.back(), conflict);
  }
  std::ranges::reverse(barriers);
  return barriers;
}

Barriers plan_line(const Conflicts& conflicts) {
  return with_stages(fewest_places(conflicts), conflicts);
}

// The barriers of a block that follows itself. A conflict's later step is in the same run, or,
// counted on from the number of steps, in the next one.
Barriers plan_block(const Conflicts& conflicts, std::uint32_t steps) {
  if (conflicts.empty()) return {};
  Conflicts inside;
  Conflicts around;
  for (const Conflict& conflict : conflicts) {
    (conflict.later < steps ? inside : around).push_back(conflict);
  }
  const std::vector<std::uint32_t> places = fewest_places(inside);
  const std::uint32_t first = places.empty() ? kNowhere : places.back();
  const std::uint32_t last = places.empty() ? 0 : places.front();

  // All conflicts with the next run have the block's beginning between their steps. A barrier
  // stands there if one of them has no other.
  const bool at_begin = std::ranges::any_of(around, [&](const Conflict& conflict) {
    return last <= conflict.earlier && first > conflict.later - steps;
  });

  // Conflicts that the next run's barriers come too late for are treated as if their later step
  // were the end of this run. Those that its first barrier can serve are left for later: widening
  // that barrier afterwards makes no stage of another one superfluous, since it serves no conflict
  // that another barrier exists for.
  const std::uint32_t head = at_begin ? 0 : first;
  Conflicts this_run;
  for (const Conflict& conflict : conflicts) {
    if (conflict.later < steps + head) this_run.push_back(conflict);
  }
  Barriers barriers = with_stages(places, this_run);
  if (at_begin) barriers.emplace(barriers.begin());

  FittingPlaces fitting;
  for (const PlannedBarrier& barrier : barriers) fitting.add(barrier);
  for (const Conflict& conflict : around) {
    const std::uint32_t later = conflict.later - steps;
    if (later < head || fitting.any_after(conflict, conflict.earlier) ||
        fitting.any_up_to(conflict, later)) {
      continue;
    }
    if (!fits(barriers.front(), conflict)) widen(barriers.front(), conflict);
  }
  return barriers;
}

std::uint32_t size_of(const std::vector<PlannedStep>& steps) {
  return static_cast<std::uint32_t>(steps.size());
}

void append(std::vector<const PlannedStep*>& steps, const std::vector<PlannedStep>& section) {
  for (const PlannedStep& step : section) steps.push_back(&step);
}

PlannedBarrier placed(PlannedBarrier barrier, Section section, std::uint32_t before) {
  barrier.section = section;
  barrier.before = before;
  return barrier;
}

// The block runs at most once.
BarrierPlan plan_once(const SequencePlan& sequence) {
  std::vector<const PlannedStep*> steps;
  append(steps, sequence.prologue);
  const std::uint32_t block = size_of(sequence.prologue);
  if (sequence.count == 1) append(steps, sequence.block);
  const auto epilogue = static_cast<std::uint32_t>(steps.size());
  append(steps, sequence.epilogue);

  BarrierPlan plan;
  for (const PlannedBarrier& barrier : plan_line(nearest_conflicts(steps))) {
    if (barrier.before < block) {
      plan.barriers.push_back(placed(barrier, Section::Prologue, barrier.before));
    } else if (barrier.before < epilogue) {
      plan.barriers.push_back(placed(barrier, Section::Block, barrier.before - block));
    } else {
      plan.barriers.push_back(placed(barrier, Section::Epilogue, barrier.before - epilogue));
    }
  }
  return plan;
}

// The block follows itself. Two runs show everything: the first, which follows the prologue, the
// last, which precedes the epilogue, and the step from one run to the next.
class RepeatedPlanner {
 public:
  explicit RepeatedPlanner(const SequencePlan& sequence)
      : first_run_(size_of(sequence.prologue)),
        last_run_(first_run_ + size_of(sequence.block)),
        epilogue_(last_run_ + size_of(sequence.block)) {
    std::vector<const PlannedStep*> steps;
    append(steps, sequence.prologue);
    append(steps, sequence.block);
    append(steps, sequence.block);
    append(steps, sequence.epilogue);
    conflicts_ = nearest_conflicts(steps);
  }

  // The block is planned first and alone: work that happens once must not widen barriers of every
  // run.
  BarrierPlan plan() const {
    const Barriers block = plan_block(of_block(), last_run_ - first_run_);
    const Barriers outside = plan_line(of_outside(block));
    BarrierPlan plan;
    const auto epilogue = std::ranges::find_if(
        outside, [&](const PlannedBarrier& barrier) { return barrier.before > first_run_; });
    for (auto barrier = outside.begin(); barrier != epilogue; ++barrier) {
      plan.barriers.push_back(placed(*barrier, Section::Prologue, barrier->before));
    }
    for (const PlannedBarrier& barrier : block) {
      plan.barriers.push_back(placed(barrier, Section::Block, barrier.before));
    }
    for (auto barrier = epilogue; barrier != outside.end(); ++barrier) {
      plan.barriers.push_back(
          placed(*barrier, Section::Epilogue, barrier->before - on_line(epilogue_)));
    }
    return plan;
  }

 private:
  Conflicts of_block() const {
    Conflicts conflicts;
    for (Conflict conflict : conflicts_) {
      if (conflict.earlier < first_run_ || conflict.earlier >= last_run_) continue;
      if (conflict.later >= epilogue_) continue;
      conflict.earlier -= first_run_;
      conflict.later -= first_run_;
      conflicts.push_back(conflict);
    }
    return conflicts;
  }

  // What the block's barriers do not serve is planned on a line of the prologue, the block as one
  // indivisible step, and the epilogue.
  Conflicts of_outside(const Barriers& block) const {
    FittingPlaces fitting;
    for (const PlannedBarrier& barrier : block) fitting.add(barrier);
    Conflicts conflicts;
    for (Conflict conflict : conflicts_) {
      if (within_block(conflict) || served_by_block(conflict, fitting)) continue;
      conflict.earlier = on_line(conflict.earlier);
      conflict.later = on_line(conflict.later);
      conflicts.push_back(conflict);
    }
    return conflicts;
  }

  bool in_block(std::uint32_t step) const { return step >= first_run_ && step < epilogue_; }
  bool within_block(const Conflict& conflict) const {
    return in_block(conflict.earlier) && in_block(conflict.later);
  }

  bool served_by_block(const Conflict& conflict, const FittingPlaces& fitting) const {
    if (conflict.earlier >= epilogue_ || conflict.later < first_run_) return false;
    // The step in the last run has the same conflict and less room for a barrier.
    if (conflict.earlier >= first_run_ && conflict.earlier < last_run_) return true;
    if (conflict.earlier >= last_run_) {
      return fitting.any_after(conflict, conflict.earlier - last_run_);
    }
    if (conflict.later >= epilogue_) return fitting.any(conflict);
    return fitting.any_up_to(conflict, conflict.later - first_run_);
  }

  std::uint32_t on_line(std::uint32_t step) const {
    if (step < first_run_) return step;
    return step < epilogue_ ? first_run_ : first_run_ + 1 + (step - epilogue_);
  }

  // Positions in the line of steps that the conflicts refer to.
  std::uint32_t first_run_;
  std::uint32_t last_run_;
  std::uint32_t epilogue_;
  Conflicts conflicts_;
};

}  // namespace

std::string to_string(StageSet stages) {
  std::string text;
  for (const auto& [stage, name] :
       {std::pair(Stage::Compute, "compute"), std::pair(Stage::Transfer, "transfer"),
        std::pair(Stage::Indirect, "indirect"), std::pair(Stage::Host, "host"),
        std::pair(Stage::Condition, "condition")}) {
    if (!stages.has(stage)) continue;
    if (!text.empty()) text += '+';
    text += name;
  }
  return text;
}

BarrierPlan plan_barriers(const SequencePlan& sequence) {
  if (sequence.count < 2 || sequence.block.empty()) return plan_once(sequence);
  return RepeatedPlanner(sequence).plan();
}

}  // namespace felsite::dispatch
