// Device-resident control flow: conditions and loop bounds are in memory, or there are too many
// trips to record. Each segment has a gate, and after each segment a small kernel closes its gate
// and opens that of the next segment. A round is all segments once, in order; rounds are repeated
// until the walk has ended.
#include <algorithm>

#include "base/try.h"
#include "vk/grid/grid_steps.h"

namespace felsite::vk {
namespace {

using dispatch::WalkParameters;
using dispatch::WalkWords;

constexpr std::size_t kStepsPerBlockOfRounds = 256;
constexpr std::size_t kMaxRounds = 32;

class DeviceWalk {
 public:
  DeviceWalk(GridSteps& steps, Sequence& out) : steps_(steps), plan_(steps.plan()), out_(out) {}

  Result<void> add() {
    lay_out();
    FELSITE_CHECK(make_memory());
    if (steps_.compares()) {
      // Stores the state before the first iteration. That this differs from old contents is no
      // change.
      FELSITE_TRY(auto state, steps_.comparisons(slice(changed_at_, 1)));
      std::ranges::move(state, std::back_inserter(out_.prefix));
      FELSITE_TRY(auto clear, steps_.runtime_step(GridKernel::Clear, {slice(changed_at_, 1)}, 1));
      out_.prefix.push_back(std::move(clear));
    }
    std::vector<KernelStep> round;
    for (std::uint32_t s = 0; s < stops_.size(); ++s) {
      if (stops_[s].is_skipped) continue;
      FELSITE_CHECK(add_stop(s, round));
    }
    const std::size_t most = std::min(kMaxRounds, steps_.runs_at_once(plan_.segments.size()));
    const std::size_t rounds =
        std::clamp<std::size_t>(kStepsPerBlockOfRounds / round.size(), 1, most);
    for (std::size_t i = 0; i < rounds; ++i) {
      out_.repeated.insert(out_.repeated.end(), round.begin(), round.end());
    }
    out_.count = UINT32_MAX;
    out_.watch = slice(WalkWords::kRunning, 1);
    describe();
    return {};
  }

 private:
  // A segment, or the end of an iteration: where its gate is among the words, and the shape that
  // opens it.
  struct Stop {
    std::uint32_t gate_at = 0;
    std::uint32_t gate_words = 0;
    std::uint32_t shape_at = 0;
    bool is_skipped = false;  // does nothing and has one successor, so the walk skips it
  };

  std::uint32_t end() const { return static_cast<std::uint32_t>(plan_.segments.size()); }

  std::uint32_t take(std::uint64_t words, bool bound_alone) {
    if (bound_alone) next_word_ = align_up(next_word_, steps_.alignment() / 4);
    const auto at = static_cast<std::uint32_t>(next_word_);
    next_word_ += words;
    return at;
  }

  void lay_out() {
    next_word_ = WalkWords::kFirstFree;
    ends_at_ = take(plan_.trip_count, false);
    trips_at_ = take(std::max(plan_.trip_count, 1u), true);
    choices_at_ = take(std::max(plan_.choice_words, 1u), true);
    changed_at_ = take(1, true);
    take(0, true);
    stops_.resize(end() + 1);
    for (std::uint32_t s = 0; s <= end(); ++s) {
      Stop& stop = stops_[s];
      const bool is_end = s == end();
      stop.is_skipped = !is_end && s != 0 && plan_.segments[s].empty &&
                        plan_.segments[s].next.kind == NextSegment::Kind::Jump;
      if (stop.is_skipped) continue;
      stop.shape_at = static_cast<std::uint32_t>(shapes_.size());
      add_shape(s, is_end);
      stop.gate_words = static_cast<std::uint32_t>(shapes_.size()) - stop.shape_at;
      stop.gate_at = take(stop.gate_words, false);
    }
  }

  // With conditional rendering one word is the gate. Else the device reads a grid for each part of
  // each step, and for the kernel that opens the next gate.
  void add_shape(std::uint32_t s, bool is_end) {
    if (steps_.has_conditions()) {
      shapes_.push_back(1);
      return;
    }
    std::vector<Extent3> grids;
    if (is_end && steps_.compares()) grids = steps_.compared_grids();
    if (!is_end && !plan_.segments[s].empty) grids.push_back(steps_.request().grid);
    for (const auto& grid : grids) {
      for (const GridPart& part : steps_.parts_of(grid)) {
        shapes_.insert(shapes_.end(), part.grid.begin(), part.grid.end());
      }
    }
    shapes_.insert(shapes_.end(), {1, 1, 1});
  }

  Result<void> make_memory() {
    FELSITE_TRY(auto control, steps_.control(next_word_ * 4, "walk"));
    control_ = std::move(control);
    FELSITE_TRY(shape_words_, steps_.control(shapes_.size() * 4, "shapes"));
    FELSITE_CHECK(shape_words_->write(0, std::as_bytes(std::span(shapes_))));
    // Each run begins with the gate of the first segment open.
    std::vector<std::uint32_t> words(next_word_, 0);
    words[WalkWords::kRunning] = 1;
    const Stop& first = stops_.front();
    std::copy_n(shapes_.begin() + first.shape_at, first.gate_words, words.begin() + first.gate_at);
    out_.host_words.emplace_back();
    out_.host_words.back().target = slice(0, next_word_);
    out_.host_words.back().words = std::move(words);
    return {};
  }

  BufferSlice slice(std::uint32_t at, std::uint64_t words) const {
    return {control_, std::uint64_t{at} * 4, words * 4};
  }

  // The first stop from a segment on that is not skipped.
  std::uint32_t stop_of(std::uint32_t segment) const {
    while (segment != end() && stops_[segment].is_skipped)
      segment = plan_.segments[segment].next.target;
    return segment;
  }

  Result<void> add_stop(std::uint32_t s, std::vector<KernelStep>& round) {
    const bool is_end = s == end();
    std::vector<KernelStep> steps;
    if (is_end && steps_.compares()) {
      FELSITE_TRY(steps, steps_.comparisons(slice(changed_at_, 1)));
    }
    if (!is_end && !plan_.segments[s].empty) {
      IterationBuffers iteration;
      iteration.changed = slice(changed_at_, 1);
      iteration.trip_words = slice(trips_at_, plan_.trip_count);
      iteration.choices = slice(choices_at_, plan_.choice_words);
      FELSITE_TRY(auto segment, steps_.segment(s, iteration));
      segment.counts_as_launch = false;  // the walk counts those that ran
      steps.push_back(std::move(segment));
    }
    FELSITE_TRY(auto next, is_end ? iteration_end() : next_segment(s));
    steps.push_back(std::move(next));
    put_behind_gate(s, std::move(steps), round);
    return {};
  }

  void put_behind_gate(std::uint32_t s, std::vector<KernelStep> steps,
                       std::vector<KernelStep>& round) const {
    std::uint32_t at = stops_[s].gate_at;
    for (KernelStep& step : steps) {
      if (steps_.has_conditions()) {
        step.condition = slice(at, 1);
        round.push_back(std::move(step));
        continue;
      }
      for (KernelStep& part : steps_.in_parts(step)) {
        part.indirect = slice(at, 3);
        at += 3;
        round.push_back(std::move(part));
      }
    }
  }

  using Parameters = std::array<std::uint32_t, WalkParameters::Count>;

  Parameters parameters_of(std::uint32_t s) const {
    Parameters p{};
    p[WalkParameters::SelfAt] = stops_[s].gate_at;
    p[WalkParameters::SelfWords] = stops_[s].gate_words;
    p[WalkParameters::Launches] = s != end() && !plan_.segments[s].empty ? 1 : 0;
    p[WalkParameters::Bound] = steps_.bound();
    p[WalkParameters::ChangedAt] = changed_at_;
    return p;
  }

  void set_target(Parameters& p, std::uint32_t segment, bool taken) const {
    const Stop& stop = stops_[stop_of(segment)];
    p[taken ? WalkParameters::TargetAt : WalkParameters::ElseAt] = stop.gate_at;
    p[taken ? WalkParameters::TargetWords : WalkParameters::ElseWords] = stop.gate_words;
    p[taken ? WalkParameters::TargetShape : WalkParameters::ElseShape] = stop.shape_at;
  }

  std::vector<BufferSlice> control_buffers() const {
    std::vector<BufferSlice> buffers;
    buffers.reserve(3);  // the end of an iteration may add one; without this g++ 14 warns
    buffers.push_back(BufferSlice{shape_words_, 0, shapes_.size() * 4});
    buffers.push_back(slice(0, next_word_));
    return buffers;
  }

  Result<KernelStep> next_segment(std::uint32_t s) {
    Parameters p = parameters_of(s);
    const NextSegment& next = plan_.segments[s].next;
    const bool ends = next.kind == NextSegment::Kind::End;
    p[WalkParameters::Kind] =
        static_cast<std::uint32_t>(ends ? NextSegment::Kind::Jump : next.kind);
    set_target(p, ends ? end() : next.target, true);
    set_target(p, ends ? end() : next.else_target, false);
    if (next.kind != NextSegment::Kind::Jump && !ends) {
      const GridFork& fork = plan_.forks[next.fork];
      p[WalkParameters::ChoiceAt] = choices_at_ + fork.choice;
      if (fork.is_loop) {
        p[WalkParameters::TripAt] = trips_at_ + fork.trip;
        p[WalkParameters::EndAt] = ends_at_ + fork.trip;
      }
    }
    return steps_.runtime_step(GridKernel::NextSegment, control_buffers(), 1, p);
  }

  Result<KernelStep> iteration_end() {
    Parameters p = parameters_of(end());
    set_target(p, 0, true);
    std::vector<BufferSlice> buffers = control_buffers();
    GridKernel kind =
        steps_.compares() ? GridKernel::IterationEndChanged : GridKernel::IterationEndCounted;
    if (const auto flag = steps_.flag()) {
      kind = GridKernel::IterationEndFlag;
      buffers.push_back(steps_.request().buffers[*flag]);
    }
    return steps_.runtime_step(kind, std::move(buffers), 1, p);
  }

  void describe() {
    IterationRecord& record = out_.iterations.emplace();
    record.bound = steps_.bound();
    record.counted = slice(WalkWords::kIterations, 1);
    record.converged = slice(WalkWords::kConverged, 1);
    record.launches = slice(WalkWords::kLaunched, 1);
    record.segments = end();
  }

  GridSteps& steps_;
  const GridSyncPlan& plan_;
  Sequence& out_;
  std::vector<Stop> stops_;  // by segment; the last one is the end of an iteration
  std::vector<std::uint32_t> shapes_;
  std::uint64_t next_word_ = 0;
  std::uint32_t trips_at_ = 0;
  std::uint32_t ends_at_ = 0;
  std::uint32_t choices_at_ = 0;
  std::uint32_t changed_at_ = 0;
  SharedBuffer control_;
  SharedBuffer shape_words_;
};

}  // namespace

Result<void> add_device_walk(GridSteps& steps, Sequence& sequence) {
  return DeviceWalk(steps, sequence).add();
}

}  // namespace felsite::vk
