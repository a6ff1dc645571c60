// Where the launches of a plan conflict and over which buffers, found by the planner that
// recordings use.
#include <algorithm>
#include <map>
#include <tuple>

#include "dispatch/barriers/barrier_plan.h"
#include "dispatch/explain/explained_plan.h"

namespace felsite::dispatch {
namespace {

using Path = std::vector<std::uint32_t>;

// A longer path is not examined launch by launch: its barriers are those of a short one.
constexpr std::size_t kMaxLaunches = 16384;

// Takes each branch in turn and each loop twice, so that every segment meets those that may follow
// it. Nested loops double; where the path grows too long, inner loops are taken once.
class TypicalPath {
 public:
  explicit TypicalPath(const std::vector<ExplainedPart>& order) { add(order); }
  Path take() { return std::move(path_); }

 private:
  void add(const std::vector<ExplainedPart>& parts) {
    for (const ExplainedPart& part : parts) {
      if (part.kind == ExplainedPart::Kind::Segment) {
        path_.push_back(part.segment);
        continue;
      }
      add(part.parts);
      const bool again = part.kind == ExplainedPart::Kind::Repeat && path_.size() < kMaxLaunches;
      if (again) add(part.parts);
    }
  }
  Path path_;
};

PlannedStep step_of(const ExplainedSegment& segment) {
  PlannedStep step;
  for (const ExplainedUse& use : segment.uses) {
    const bool writes = use.writes || use.atomics;
    if (!writes && !use.reads) continue;
    step.accesses.push_back({use.buffer, 0, 1, Stage::Compute, writes});
  }
  return step;
}

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

// The segments of a stretch of the path, each once: repetitions have no new hazards.
Path distinct(const Path& path, std::uint32_t from, std::uint32_t to) {
  Path result(path.begin() + from, path.begin() + to);
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<ExplainedHazard> hazards_between(const std::vector<ExplainedSegment>& segments,
                                             const Path& earlier, const Path& later) {
  std::vector<ExplainedHazard> hazards;
  for (auto before = earlier.rbegin(); before != earlier.rend(); ++before) {
    for (const std::uint32_t after : later) add_hazards(segments, *before, after, hazards);
  }
  std::ranges::sort(hazards, {},
                    [](const ExplainedHazard& h) { return std::tuple(h.buffer, h.kind); });
  return hazards;
}

}  // namespace

std::vector<ExplainedBarrier> explain_barriers(const GridSyncPlan& plan,
                                               const std::vector<ExplainedSegment>& segments,
                                               const std::vector<ExplainedPart>& order,
                                               const std::optional<Path>& known_path,
                                               bool many_iterations) {
  const bool is_known = known_path && known_path->size() <= kMaxLaunches;
  Path path = is_known ? *known_path : TypicalPath(order).take();
  std::erase_if(path, [&](std::uint32_t s) { return plan.segments[s].empty; });
  if (path.empty()) return {};
  SequencePlan sequence;
  sequence.count = many_iterations ? 2 : 1;
  for (const std::uint32_t s : path) sequence.block.push_back(step_of(segments[s]));
  // Each barrier orders what stands between it and its neighbours; places are those of one
  // iteration.
  std::vector<std::uint32_t> places;
  for (const PlannedBarrier& barrier : plan_barriers(sequence).barriers) {
    places.push_back(barrier.before);
  }
  const auto size = static_cast<std::uint32_t>(path.size());
  using Ends = std::tuple<bool, std::uint32_t, std::uint32_t>;
  std::map<Ends, ExplainedBarrier> found;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::uint32_t place = places[i];
    const bool next_iteration = place == 0 || place == size;
    const std::uint32_t after = next_iteration ? path.back() : path[place - 1];
    const std::uint32_t before = next_iteration ? path.front() : path[place];
    auto [entry, is_new] = found.try_emplace(Ends{next_iteration, after, before});
    ExplainedBarrier& barrier = entry->second;
    barrier.after = after;
    barrier.before = before;
    barrier.next_iteration = next_iteration;
    if (is_known) barrier.times = barrier.times.value_or(0) + 1;
    if (!is_new) continue;
    const std::uint32_t from = i == 0 ? 0 : places[i - 1];
    const std::uint32_t to = i + 1 == places.size() ? size : places[i + 1];
    if (next_iteration) {
      const std::uint32_t first_end = place == 0 ? to : places.front();
      const std::uint32_t last_begin = place == 0 ? places.back() : from;
      barrier.hazards =
          hazards_between(segments, distinct(path, last_begin, size), distinct(path, 0, first_end));
    } else {
      barrier.hazards =
          hazards_between(segments, distinct(path, from, place), distinct(path, place, to));
    }
  }
  std::vector<ExplainedBarrier> barriers;
  for (auto& [ends, barrier] : found) barriers.push_back(std::move(barrier));
  return barriers;
}

}  // namespace felsite::dispatch
