// The barriers of a schedule as barriers between segments, and over which buffers.
#include <algorithm>
#include <map>
#include <tuple>

#include "dispatch/explain/explained_plan.h"

namespace felsite::dispatch {
namespace {

const ExplainedUse* use_of(const ExplainedSegment& segment, std::uint32_t buffer) {
  const auto found = std::ranges::find(segment.uses, buffer, &ExplainedUse::buffer);
  return found == segment.uses.end() ? nullptr : &*found;
}

// Why the later segment must wait for the earlier one.
void add_hazards(const std::vector<ExplainedSegment>& segments, std::uint32_t earlier,
                 std::uint32_t later, std::vector<ExplainedHazard>& hazards) {
  using Kind = ExplainedHazard::Kind;
  for (const ExplainedUse& before : segments[earlier].uses) {
    const ExplainedUse* const after = use_of(segments[later], before.buffer);
    if (after == nullptr) continue;
    const bool wrote = before.writes || before.atomics;
    const bool writes = after->writes || after->atomics;
    const bool reads = after->reads || after->atomics;
    std::optional<Kind> kind;
    if (wrote && reads) {
      kind = Kind::ReadAfterWrite;
    } else if (wrote && writes) {
      kind = Kind::WriteAfterWrite;
    } else if (before.reads && writes) {
      kind = Kind::WriteAfterRead;
    }
    if (!kind) continue;
    const auto same = [&](const ExplainedHazard& h) {
      return h.buffer == before.buffer && h.kind == *kind;
    };
    if (std::ranges::any_of(hazards, same)) continue;
    hazards.push_back({*kind, before.buffer, earlier, later});
  }
}

// Launches of segments in the order of the schedule, and which of them a barrier follows. The
// runtime's own steps between two segments belong to the gap between them.
class Launches {
 public:
  Launches(const Schedule& schedule, const BarrierPlan& barriers)
      : block_(static_cast<std::uint32_t>(schedule.prefix.size())),
        repeats_(schedule.count > 1 && !schedule.repeated.empty()) {
    in_iteration_ = schedule.outcome ? schedule.outcome->launches_in_iteration : 0;
    add(schedule.prefix, 0);
    block_launch_ = launches_.size();
    add(schedule.repeated, block_);
    waits_.resize(launches_.size());
    for (const PlannedBarrier& barrier : barriers.barriers) add(barrier);
  }

  std::vector<ExplainedBarrier> explain(const std::vector<ExplainedSegment>& segments) const {
    using Ends = std::tuple<bool, std::uint32_t, std::uint32_t>;
    std::map<Ends, ExplainedBarrier> found;
    for (std::size_t i = 0; i < launches_.size(); ++i) {
      if (!waits_[i]) continue;
      const bool is_last = i + 1 == launches_.size();
      const std::size_t next = is_last ? block_launch_ : i + 1;
      const std::uint32_t after = launches_[i].segment;
      const std::uint32_t before = launches_[next].segment;
      const bool next_iteration = is_last || iteration_of(i) != iteration_of(next);
      auto [entry, is_new] = found.try_emplace(Ends{next_iteration, after, before});
      ExplainedBarrier& barrier = entry->second;
      const bool is_counted = in_iteration_ != 0 && (is_new || iteration_of(i) == 0);
      if (is_counted) barrier.times = barrier.times.value_or(0) + 1;
      if (!is_new) continue;
      barrier.after = after;
      barrier.before = before;
      barrier.next_iteration = next_iteration;
      barrier.hazards = hazards(segments, i, next);
    }
    std::vector<ExplainedBarrier> barriers;
    for (auto& [ends, barrier] : found) barriers.push_back(std::move(barrier));
    return barriers;
  }

 private:
  struct Launch {
    std::uint32_t step;
    std::uint32_t segment;
  };

  void add(const std::vector<ScheduledStep>& steps, std::uint32_t first) {
    for (std::uint32_t i = 0; i < steps.size(); ++i) {
      if (!steps[i].is_callers || steps[i].is_further_part) continue;
      launches_.push_back({first + i, steps[i].segment ? steps[i].segment->index : 0});
    }
  }

  void add(const PlannedBarrier& barrier) {
    const bool in_block = barrier.section == Section::Block;
    const std::uint32_t step = barrier.before + (in_block ? block_ : 0);
    const auto later = std::ranges::lower_bound(launches_, step, {}, &Launch::step);
    const auto place = static_cast<std::size_t>(later - launches_.begin());
    // What comes before the first launch of a run also comes after the last one of the run before.
    const bool wraps = in_block && repeats_ && block_launch_ < launches_.size() &&
                       (place == block_launch_ || place == launches_.size());
    if (wraps) waits_.back() = true;
    if (place != 0 && place != launches_.size()) waits_[place - 1] = true;
  }

  std::size_t iteration_of(std::size_t launch) const {
    return in_iteration_ == 0 ? 0 : launch / in_iteration_;
  }

  // A barrier orders what stands between it and its neighbours.
  std::vector<ExplainedHazard> hazards(const std::vector<ExplainedSegment>& segments,
                                       std::size_t last, std::size_t first) const {
    std::size_t begin = last;
    while (begin != 0 && !waits_[begin - 1]) --begin;
    std::size_t end = first;
    while (end + 1 < launches_.size() && !waits_[end]) ++end;
    std::vector<ExplainedHazard> hazards;
    for (std::size_t i = last + 1; i-- > begin;) {
      for (std::size_t k = first; k <= end; ++k) {
        add_hazards(segments, launches_[i].segment, launches_[k].segment, hazards);
      }
    }
    std::ranges::sort(hazards, {},
                      [](const ExplainedHazard& h) { return std::tuple(h.buffer, h.kind); });
    return hazards;
  }

  const std::uint32_t block_;  // the first step of the block, counted over the whole schedule
  const bool repeats_;
  std::size_t in_iteration_ = 0;  // 0: only the device knows
  std::size_t block_launch_ = 0;
  std::vector<Launch> launches_;
  std::vector<bool> waits_;  // by launch
};

}  // namespace

std::vector<ExplainedBarrier> explain_barriers(const Schedule& schedule,
                                               const BarrierPlan& barriers,
                                               const std::vector<ExplainedSegment>& segments) {
  return Launches(schedule, barriers).explain(segments);
}

}  // namespace felsite::dispatch
