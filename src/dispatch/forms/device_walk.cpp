// Device-resident control flow: conditions and loop bounds are in memory, or there are too many
// trips to outcome. Each segment has a gate, and after each segment a small kernel closes its gate
// and opens that of the next segment. A round is all segments once, in order; rounds are repeated
// until the walk has ended.
#include <algorithm>

#include "base/align.h"
#include "base/try.h"
#include "dispatch/forms/schedule_writer.h"

namespace felsite::dispatch {
namespace {

constexpr std::size_t kStepsPerBlockOfRounds = 256;
constexpr std::size_t kMaxRounds = 32;

class DeviceWalk {
 public:
  explicit DeviceWalk(ScheduleWriter& writer)
      : writer_(writer), plan_(writer.plan()), out_(writer.out()) {}

  Result<void> add() {
    lay_out();
    make_memory();
    if (writer_.rule().compares) {
      // Stores the state before the first iteration. That this differs from old contents is no
      // change.
      FELSITE_TRY(auto state, writer_.comparisons(slice(changed_at_, 1)));
      std::ranges::move(state, std::back_inserter(out_.prefix));
      FELSITE_TRY(auto clear, writer_.runtime_step(GridKernel::Clear, {slice(changed_at_, 1)}, 1));
      out_.prefix.push_back(std::move(clear));
    }
    std::vector<ScheduledStep> round;
    for (std::uint32_t s = 0; s < stops_.size(); ++s) {
      if (stops_[s].is_skipped) continue;
      FELSITE_CHECK(add_stop(s, round));
    }
    const std::size_t most = std::min(
        kMaxRounds, StepWriter::runs_at_once(writer_.invocations_of(plan_.segments.size())));
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
    if (bound_alone) next_word_ = base::align_up(next_word_, writer_.alignment() / 4);
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
                        (plan_.segments[s].next.kind == NextSegment::Kind::Jump ||
                         plan_.segments[s].next.kind == NextSegment::Kind::End);
      if (stop.is_skipped) continue;
      stop.shape_at = static_cast<std::uint32_t>(shapes_.size());
      add_shape(s, is_end);
      stop.gate_words = static_cast<std::uint32_t>(shapes_.size()) - stop.shape_at;
      stop.gate_at = take(stop.gate_words, false);
    }
  }

  // With conditional steps one word is the gate. Else the device reads a grid for each part of
  // each step, and for the kernel that opens the next gate.
  void add_shape(std::uint32_t s, bool is_end) {
    if (writer_.has_conditions()) {
      shapes_.push_back(1);
      return;
    }
    std::vector<Extent3> grids;
    if (is_end && writer_.rule().compares) grids = writer_.compared_grids();
    if (!is_end && !plan_.segments[s].empty) grids.push_back(writer_.grid());
    for (const auto& grid : grids) {
      for (const GridPart& part : writer_.parts_of(grid)) {
        shapes_.insert(shapes_.end(), part.grid.begin(), part.grid.end());
      }
    }
    shapes_.insert(shapes_.end(), {1, 1, 1});
  }

  void make_memory() {
    control_ = writer_.add_control(next_word_ * 4, "walk").buffer;
    shape_words_ =
        writer_.add_buffer(PlannedBuffer::Kind::Control, shapes_.size() * 4, "shapes", shapes_);
    // Each run begins with the gate of the first segment open.
    std::vector<std::uint32_t> words(next_word_, 0);
    words[WalkWords::kRunning] = 1;
    const Stop& first = stops_.front();
    std::copy_n(shapes_.begin() + first.shape_at, first.gate_words, words.begin() + first.gate_at);
    writer_.begin_with(slice(0, next_word_), std::move(words));
  }

  BufferRef slice(std::uint32_t at, std::uint64_t words) const {
    return {control_, std::uint64_t{at} * 4, words * 4};
  }

  // The first stop from a segment on that is not skipped.
  std::uint32_t stop_of(std::uint32_t segment) const {
    while (segment != end() && stops_[segment].is_skipped) {
      const NextSegment& next = plan_.segments[segment].next;
      segment = next.kind == NextSegment::Kind::End ? end() : next.target;
    }
    return segment;
  }

  Result<void> add_stop(std::uint32_t s, std::vector<ScheduledStep>& round) {
    const bool is_end = s == end();
    std::vector<ScheduledStep> steps;
    if (is_end && writer_.rule().compares) {
      FELSITE_TRY(steps, writer_.comparisons(slice(changed_at_, 1)));
    }
    if (!is_end && !plan_.segments[s].empty) {
      IterationBuffers iteration;
      iteration.changed = slice(changed_at_, 1);
      iteration.trip_words = slice(trips_at_, plan_.trip_count);
      iteration.choices = slice(choices_at_, plan_.choice_words);
      ScheduledStep segment = writer_.segment(s, iteration);
      segment.counts_as_launch = false;  // the walk counts those that ran
      steps.push_back(std::move(segment));
    }
    FELSITE_TRY(auto next, is_end ? iteration_end() : next_segment(s));
    steps.push_back(std::move(next));
    put_behind_gate(s, std::move(steps), round);
    return {};
  }

  void put_behind_gate(std::uint32_t s, std::vector<ScheduledStep> steps,
                       std::vector<ScheduledStep>& round) const {
    std::uint32_t at = stops_[s].gate_at;
    for (ScheduledStep& step : steps) {
      if (writer_.has_conditions()) {
        step.condition = slice(at, 1);
        round.push_back(std::move(step));
        continue;
      }
      for (ScheduledStep& part : writer_.in_parts(step)) {
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
    p[WalkParameters::Bound] = writer_.rule().bound;
    p[WalkParameters::ChangedAt] = changed_at_;
    return p;
  }

  void set_target(Parameters& p, std::uint32_t segment, bool taken) const {
    const Stop& stop = stops_[stop_of(segment)];
    p[taken ? WalkParameters::TargetAt : WalkParameters::ElseAt] = stop.gate_at;
    p[taken ? WalkParameters::TargetWords : WalkParameters::ElseWords] = stop.gate_words;
    p[taken ? WalkParameters::TargetShape : WalkParameters::ElseShape] = stop.shape_at;
  }

  std::vector<BufferRef> control_buffers() const {
    std::vector<BufferRef> buffers;
    buffers.reserve(3);  // the end of an iteration may add one; without this g++ 14 warns
    buffers.push_back(shape_words_);
    buffers.push_back(slice(0, next_word_));
    return buffers;
  }

  Result<ScheduledStep> next_segment(std::uint32_t s) {
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
    return writer_.runtime_step(GridKernel::NextSegment, control_buffers(), 1, p);
  }

  Result<ScheduledStep> iteration_end() {
    Parameters p = parameters_of(end());
    set_target(p, 0, true);
    std::vector<BufferRef> buffers = control_buffers();
    GridKernel kind =
        writer_.rule().compares ? GridKernel::IterationEndChanged : GridKernel::IterationEndCounted;
    if (const auto flag = writer_.rule().flag) {
      kind = GridKernel::IterationEndFlag;
      buffers.push_back(writer_.buffer_of(*flag));
    }
    return writer_.runtime_step(kind, std::move(buffers), 1, p);
  }

  void describe() {
    IterationOutcome& outcome = out_.outcome.emplace();
    outcome.bound = writer_.rule().bound;
    outcome.counted = slice(WalkWords::kIterations, 1);
    outcome.converged = slice(WalkWords::kConverged, 1);
    outcome.launches = slice(WalkWords::kLaunched, 1);
    outcome.segments = end();
  }

  ScheduleWriter& writer_;
  const GridSyncPlan& plan_;
  Schedule& out_;
  std::vector<Stop> stops_;  // by segment; the last one is the end of an iteration
  std::vector<std::uint32_t> shapes_;
  std::uint64_t next_word_ = 0;
  std::uint32_t trips_at_ = 0;
  std::uint32_t ends_at_ = 0;
  std::uint32_t choices_at_ = 0;
  std::uint32_t changed_at_ = 0;
  std::uint32_t control_ = BufferRef::kUnbound;
  BufferRef shape_words_;
};

}  // namespace

Result<void> write_device_walk(ScheduleWriter& writer) { return DeviceWalk(writer).add(); }

}  // namespace felsite::dispatch
