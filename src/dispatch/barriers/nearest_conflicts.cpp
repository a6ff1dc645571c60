#include "dispatch/barriers/nearest_conflicts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <unordered_map>

namespace felsite::dispatch {
namespace {

constexpr std::uint32_t kNever = std::numeric_limits<std::uint32_t>::max();

struct NextSteps {
  NextSteps() {
    writes.fill(kNever);
    reads.fill(kNever);
  }
  void take_earlier(const NextSteps& other) {
    for (std::size_t stage = 0; stage < kStageCount; ++stage) {
      writes[stage] = std::min(writes[stage], other.writes[stage]);
      reads[stage] = std::min(reads[stage], other.reads[stage]);
    }
  }
  void set(Stage stage, bool writing, std::uint32_t step) {
    (writing ? writes : reads)[static_cast<std::size_t>(stage)] = step;
  }

  std::array<std::uint32_t, kStageCount> writes;
  std::array<std::uint32_t, kStageCount> reads;
};

// The next steps that touch each byte of one buffer: a tree over the ranges between the offsets
// where accesses begin or end, so that many overlapping ranges stay cheap.
class BufferFuture {
 public:
  void add_offset(std::uint64_t offset) { offsets_.push_back(offset); }
  void build() {
    std::ranges::sort(offsets_);
    offsets_.erase(std::ranges::unique(offsets_).begin(), offsets_.end());
    leaves_ = std::bit_ceil(offsets_.size() - 1);
    nodes_.resize(2 * leaves_);
  }

  NextSteps of(const BufferAccess& access) const {
    NextSteps next;
    const auto [first, last] = leaves_of(access);
    for_cover(first, last, [&](std::size_t node) { next.take_earlier(nodes_[node].anywhere); });
    for_above(first, last, [&](std::size_t node) { next.take_earlier(nodes_[node].everywhere); });
    return next;
  }

  // Steps are added from last to first, so that a new one is always the next.
  void note(const BufferAccess& access, std::uint32_t step) {
    const auto [first, last] = leaves_of(access);
    for_cover(first, last, [&](std::size_t node) {
      nodes_[node].everywhere.set(access.stage, access.writes, step);
      nodes_[node].anywhere.set(access.stage, access.writes, step);
    });
    for_above(first, last, [&](std::size_t node) {
      nodes_[node].anywhere.set(access.stage, access.writes, step);
    });
  }

 private:
  struct Node {
    NextSteps everywhere;  // touch all of the node's bytes
    NextSteps anywhere;    // touch some of them
  };
  struct Leaves {
    std::size_t first;
    std::size_t last;  // included
  };

  std::size_t index_of(std::uint64_t offset) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(offsets_, offset) - offsets_.begin());
  }
  Leaves leaves_of(const BufferAccess& access) const {
    return {leaves_ + index_of(access.begin), leaves_ + index_of(access.end) - 1};
  }

  // The fewest nodes that together cover the leaves.
  template <class Visit>
  static void for_cover(std::size_t first, std::size_t last, Visit visit) {
    for (++last; first < last; first /= 2, last /= 2) {
      if (first % 2 == 1) visit(first++);
      if (last % 2 == 1) visit(--last);
    }
  }
  // All nodes above that cover, and some within it, which is harmless.
  template <class Visit>
  static void for_above(std::size_t first, std::size_t last, Visit visit) {
    for (first /= 2, last /= 2; first != last; first /= 2, last /= 2) {
      visit(first);
      visit(last);
    }
    for (; first > 0; first /= 2) visit(first);
  }

  std::vector<std::uint64_t> offsets_;
  std::size_t leaves_ = 0;
  std::vector<Node> nodes_;  // 1 is the root, 2n and 2n + 1 are below n
};

using Futures = std::unordered_map<std::uint32_t, BufferFuture>;

bool touches_nothing(const BufferAccess& access) { return access.begin >= access.end; }

Futures empty_futures(std::span<const PlannedStep* const> steps) {
  Futures futures;
  for (const PlannedStep* step : steps) {
    for (const BufferAccess& access : step->accesses) {
      if (touches_nothing(access)) continue;
      BufferFuture& future = futures[access.buffer];
      future.add_offset(access.begin);
      future.add_offset(access.end);
    }
  }
  for (auto& [buffer, future] : futures) future.build();
  return futures;
}

// The nearest conflicts of one step: the later step by stage, by stage and by kind.
class StepConflicts {
 public:
  StepConflicts() {
    for (auto& row : later_) {
      for (auto& pair : row) pair.fill(kNever);
    }
  }

  void add(const BufferAccess& access, const NextSteps& next) {
    for (std::size_t to = 0; to < kStageCount; ++to) {
      std::uint32_t& later = later_[static_cast<std::size_t>(access.stage)][to][access.writes];
      later = std::min(later, next.writes[to]);
      if (access.writes) later = std::min(later, next.reads[to]);
    }
  }

  void append_to(std::vector<Conflict>& conflicts, std::uint32_t step) const {
    for (std::size_t from = 0; from < kStageCount; ++from) {
      for (std::size_t to = 0; to < kStageCount; ++to) {
        for (const bool writes : {false, true}) {
          const std::uint32_t later = later_[from][to][writes];
          if (later == kNever) continue;
          conflicts.push_back(
              {step, later, static_cast<Stage>(from), static_cast<Stage>(to), writes});
        }
      }
    }
  }

 private:
  std::array<std::array<std::array<std::uint32_t, 2>, kStageCount>, kStageCount> later_;
};

}  // namespace

std::vector<Conflict> nearest_conflicts(std::span<const PlannedStep* const> steps) {
  Futures futures = empty_futures(steps);
  std::vector<Conflict> conflicts;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const auto step = static_cast<std::uint32_t>(i);
    StepConflicts found;
    for (const BufferAccess& access : steps[i]->accesses) {
      if (!touches_nothing(access)) found.add(access, futures.at(access.buffer).of(access));
    }
    found.append_to(conflicts, step);
    // Added after the search, because accesses of one step do not conflict with each other.
    for (const BufferAccess& access : steps[i]->accesses) {
      if (!touches_nothing(access)) futures.at(access.buffer).note(access, step);
    }
  }
  return conflicts;
}

}  // namespace felsite::dispatch
