// Iterations whose control flow the host can resolve: one recording holds all their steps, and the
// condition of each iteration is the word in which the one before reported changes. Each iteration
// has its own word, so nothing is cleared while they run, and iterations after convergence are
// skipped.
#include <algorithm>

#include "base/align.h"
#include "base/try.h"
#include "dispatch/schedule/schedule_writer.h"

namespace felsite::dispatch {
namespace {

using ir::BufferId;

// Most steps of a block of iterations, and most iterations, as far as one control kernel counts
// them.
constexpr std::size_t kStepsPerBlockOfIterations = 1024;
constexpr std::uint32_t kMaxIterations = kGridKernelSize;

class Iterations {
 public:
  Iterations(ScheduleWriter& writer, std::vector<FlatStep> walk)
      : writer_(writer), walk_(std::move(walk)), out_(writer.out()), gates_(writer) {}

  Result<void> add() {
    IterationOutcome& outcome = out_.outcome.emplace();
    outcome.bound = writer_.rule().bound;
    outcome.segments = static_cast<std::uint32_t>(writer_.plan().segments.size());
    outcome.launches_in_iteration = static_cast<std::uint32_t>(walk_.size());
    if (writer_.rule().converges) return add_converging();
    add_all();
    return {};
  }

 private:
  // A single iteration, or a fixed number of them.
  void add_all() {
    std::vector<ScheduledStep> iteration = segments({});
    out_.outcome->always = writer_.rule().bound;
    if (!writer_.rule().is_repeated()) {
      append(out_.prefix, std::move(iteration));
      return;
    }
    out_.repeated = std::move(iteration);
    out_.count = writer_.rule().bound;
    // The block is watched, so that it is submitted in pieces.
    out_.watch = writer_.add_control(4, "going");
    writer_.begin_with(*out_.watch, {1});
  }

  // Places in the control buffer: GridKernel::Advance defines the first two; then the conditions of
  // the block's iterations, then those of the iterations before it.
  static constexpr std::uint32_t kCount = 0;
  static constexpr std::uint32_t kLast = 1;
  static constexpr std::uint32_t kFirst = 2;
  std::uint32_t before_place(std::uint32_t iteration) const {
    return kFirst + in_block_ + iteration;
  }

  Result<void> add_converging() {
    const std::size_t compared = writer_.rule().compares ? writer_.plan().evolving.size() : 0;
    const std::size_t per_iteration = walk_.size() + compared + 2;
    const std::size_t most =
        std::min<std::size_t>(kMaxIterations, writer_.runs_at_once(per_iteration));
    const auto room = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(kStepsPerBlockOfIterations / per_iteration, 1, most));
    // The block runs a whole number of times; the remaining iterations come before it.
    const std::uint32_t bound = writer_.rule().bound;
    in_block_ = bound <= room ? 0 : room;
    first_iterations_ = bound <= room ? bound : (bound - 1) % room + 1;
    const std::uint32_t runs = in_block_ == 0 ? 0 : (bound - first_iterations_) / in_block_;
    make_control();
    FELSITE_CHECK(add_first_iterations());
    if (in_block_ != 0) {
      FELSITE_CHECK(add_block(runs));
    }
    describe();
    return {};
  }

  void make_control() {
    flag_ = writer_.rule().flag;
    flag_words_ = flag_ ? writer_.request().counts[*flag_] : 1;
    stride_ = base::align_up(4, writer_.alignment());
    places_ = kFirst + in_block_ + first_iterations_;
    std::uint64_t bytes = places_ * stride_;
    if (flag_words_ != 1) {
      // A flag of several words needs separate memory for each iteration.
      flag_stride_ =
          base::align_up(std::max<std::uint64_t>(flag_words_ * 4, 4), writer_.alignment());
      flag_at_ = bytes;
      bytes += flag_stride_ * places_;
    }
    control_ = writer_.add_control(bytes, "change words").buffer;
    begin_as_zeros({control_, 0, bytes});
  }

  void begin_as_zeros(const BufferRef& target) {
    writer_.begin_with(target, std::vector<std::uint32_t>(target.bytes / 4));
  }

  BufferRef place(std::uint32_t number) const { return {control_, number * stride_, 4}; }
  BufferRef flag_place(std::uint32_t number) const {
    if (flag_words_ == 1) return place(number);
    return {control_, flag_at_ + number * flag_stride_, flag_words_ * 4};
  }

  std::vector<ScheduledStep> segments(const IterationBuffers& given) {
    std::vector<ScheduledStep> made;
    for (const FlatStep& flat : walk_) {
      IterationBuffers iteration = given;
      iteration.trips = flat.trips;
      ScheduledStep step = writer_.segment(flat.segment, iteration);
      step.counts_as_launch = false;  // the outcome counts those that really ran
      made.push_back(std::move(step));
    }
    return made;
  }

  // The steps of an iteration that reports changes in `changed`.
  Result<std::vector<ScheduledStep>> iteration_steps(std::uint32_t changed) {
    IterationBuffers buffers;
    buffers.changed = place(changed);
    if (flag_) buffers.flag = flag_place(changed);
    std::vector<ScheduledStep> made = segments(buffers);
    if (writer_.rule().compares) {
      FELSITE_TRY(auto comparisons, writer_.comparisons(place(changed)));
      append(made, std::move(comparisons));
    }
    if (flag_ && flag_words_ > 1) {
      FELSITE_TRY(auto any,
                  writer_.runtime_step(GridKernel::Any, {flag_place(changed), place(changed)},
                                       flag_words_));
      made.push_back(std::move(any));
    }
    return made;
  }

  Result<void> add_first_iterations() {
    if (writer_.rule().compares) {
      // Stores the state before the first iteration. That this differs from old contents is no
      // change.
      FELSITE_TRY(auto state, writer_.comparisons(place(kCount)));
      append(out_.prefix, std::move(state));
      if (in_block_ != 0 && !out_.prefix.empty()) {
        FELSITE_TRY(auto clear, writer_.runtime_step(GridKernel::Clear, {place(kCount)}, 1));
        out_.prefix.push_back(std::move(clear));
      }
    }
    for (std::uint32_t iteration = 0; iteration < first_iterations_; ++iteration) {
      const bool is_last = iteration + 1 == first_iterations_;
      const std::uint32_t changed = is_last ? kLast : before_place(iteration + 1);
      FELSITE_TRY(auto made, iteration_steps(changed));
      if (iteration == 0) {
        gates_.shape(made, in_block_ + first_iterations_);
        if (const auto closed = gates_.all()) {
          begin_as_zeros(*closed);
        }
      }
      const std::uint32_t next = is_last ? kNoGate : in_block_ + iteration + 1;
      FELSITE_CHECK(add_iteration(out_.prefix, std::move(made),
                                  iteration == 0 ? kAlways : before_place(iteration),
                                  in_block_ + iteration, changed, next));
    }
    return {};
  }

  Result<void> add_block(std::uint32_t runs) {
    const std::array<std::uint32_t, 2> parameters{in_block_,
                                                  static_cast<std::uint32_t>(stride_ / 4)};
    const BufferRef words{control_, 0, places_ * stride_};
    FELSITE_TRY(auto advance,
                writer_.runtime_step(GridKernel::Advance, {words}, kGridKernelSize, parameters));
    out_.repeated.push_back(std::move(advance));
    if (flag_ && flag_words_ > 1) {
      const BufferRef flags{control_, flag_at_, flag_stride_ * places_};
      FELSITE_TRY(auto clear, writer_.runtime_step(GridKernel::Clear, {flags}, flags.bytes / 4));
      out_.repeated.push_back(std::move(clear));
    }
    if (const auto all = gates_.all()) {
      // A skipped iteration opens no gate and closes none.
      FELSITE_TRY(auto close, writer_.runtime_step(GridKernel::Clear, {*all}, all->bytes / 4));
      out_.repeated.push_back(std::move(close));
      FELSITE_TRY(auto gate, gates_.gate_step(place(kFirst), 0));
      out_.repeated.push_back(std::move(gate));
    }
    for (std::uint32_t iteration = 0; iteration < in_block_; ++iteration) {
      const bool is_last = iteration + 1 == in_block_;
      const std::uint32_t changed = is_last ? kLast : kFirst + iteration + 1;
      FELSITE_TRY(auto made, iteration_steps(changed));
      const std::uint32_t next = is_last ? kNoGate : iteration + 1;
      FELSITE_CHECK(add_iteration(out_.repeated, std::move(made), kFirst + iteration, iteration,
                                  changed, next));
    }
    out_.count = runs;
    out_.watch = place(kLast);
    return {};
  }

  static constexpr std::uint32_t kAlways = ir::kNone;
  static constexpr std::uint32_t kNoGate = ir::kNone;
  // `gate` is that of the iteration, `next` that of the following one, whose condition is
  // `changed`.
  Result<void> add_iteration(std::vector<ScheduledStep>& to, std::vector<ScheduledStep> iteration,
                             std::uint32_t condition, std::uint32_t gate, std::uint32_t changed,
                             std::uint32_t next) {
    if (!gates_.by_condition() && next != kNoGate) {
      FELSITE_TRY(auto opens, gates_.gate_step(place(changed), next));
      iteration.push_back(std::move(opens));
    }
    if (condition != kAlways)
      iteration = gates_.behind(std::move(iteration), place(condition), gate);
    append(to, std::move(iteration));
    return {};
  }

  void describe() {
    IterationOutcome& outcome = *out_.outcome;
    outcome.always = 1;
    for (std::uint32_t iteration = 1; iteration < first_iterations_; ++iteration) {
      outcome.ran.push_back(place(before_place(iteration)));
    }
    for (std::uint32_t iteration = 0; iteration < in_block_; ++iteration) {
      outcome.ran.push_back(place(kFirst + iteration));
    }
    if (in_block_ != 0) outcome.counted = place(kCount);
    outcome.left = place(kLast);
    if (!flag_) return;
    outcome.flag = flag_place(kLast);
    outcome.flag_buffer = writer_.callers_buffer(*flag_);
  }

  static void append(std::vector<ScheduledStep>& to, std::vector<ScheduledStep> from) {
    std::ranges::move(from, std::back_inserter(to));
  }

  ScheduleWriter& writer_;
  const std::vector<FlatStep> walk_;
  Schedule& out_;
  Gates gates_;
  std::optional<BufferId> flag_;
  std::uint64_t flag_words_ = 1;
  std::uint32_t in_block_ = 0;
  std::uint32_t first_iterations_ = 0;
  std::uint32_t places_ = 0;
  std::uint64_t stride_ = 0;
  std::uint64_t flag_stride_ = 0;
  std::uint64_t flag_at_ = 0;
  std::uint32_t control_ = BufferRef::kUnbound;
};

}  // namespace

Result<void> write_iterations(ScheduleWriter& writer, std::vector<FlatStep> walk) {
  return Iterations(writer, std::move(walk)).add();
}

}  // namespace felsite::dispatch
