#include "dispatch/forms/converging_iterations.h"

#include <algorithm>

#include "base/align.h"
#include "base/try.h"

namespace felsite::dispatch {
namespace {

// Most steps of a block of iterations, and most iterations, as far as one control kernel counts
// them.
constexpr std::size_t kStepsPerBlockOfIterations = 1024;
constexpr std::uint32_t kMaxIterations = kGridKernelSize;

class Converging {
 public:
  Converging(StepWriter& writer, const ConvergingBody& body)
      : writer_(writer), body_(body), out_(writer.out()), gates_(writer) {}

  Result<void> add(IterationOutcome& outcome) {
    const std::size_t most =
        std::min<std::size_t>(kMaxIterations, StepWriter::runs_at_once(body_.invocations));
    const auto room = static_cast<std::uint32_t>(
        std::clamp<std::size_t>(kStepsPerBlockOfIterations / (body_.steps + 2), 1, most));
    // The block runs a whole number of times; the remaining iterations come before it.
    const std::uint32_t bound = body_.bound;
    in_block_ = bound <= room ? 0 : room;
    first_iterations_ = bound <= room ? bound : (bound - 1) % room + 1;
    const std::uint32_t runs = in_block_ == 0 ? 0 : (bound - first_iterations_) / in_block_;
    make_control();
    FELSITE_CHECK(add_first_iterations());
    if (in_block_ != 0) FELSITE_CHECK(add_block(runs));
    describe(outcome);
    return {};
  }

 private:
  bool has_flag() const { return body_.own_flag_words.has_value(); }
  std::uint64_t flag_words() const { return body_.own_flag_words.value_or(1); }

  // Places in the control buffer: GridKernel::Advance defines the first two; then the conditions of
  // the block's iterations, then those of the iterations before it.
  static constexpr std::uint32_t kCount = 0;
  static constexpr std::uint32_t kLast = 1;
  static constexpr std::uint32_t kFirst = 2;
  std::uint32_t before_place(std::uint32_t iteration) const {
    return kFirst + in_block_ + iteration;
  }

  void make_control() {
    stride_ = base::align_up(4, writer_.alignment());
    places_ = kFirst + in_block_ + first_iterations_;
    std::uint64_t bytes = places_ * stride_;
    if (flag_words() != 1) {
      // A flag of several words needs separate memory for each iteration.
      flag_stride_ =
          base::align_up(std::max<std::uint64_t>(flag_words() * 4, 4), writer_.alignment());
      flag_at_ = bytes;
      bytes += flag_stride_ * places_;
    }
    control_ = writer_.add_control(bytes, "change words").buffer;
    writer_.begin_as_zeros({control_, 0, bytes});
  }

  BufferRef place(std::uint32_t number) const { return {control_, number * stride_, 4}; }
  BufferRef flag_place(std::uint32_t number) const {
    if (flag_words() == 1) return place(number);
    return {control_, flag_at_ + number * flag_stride_, flag_words() * 4};
  }

  // The steps of an iteration that reports changes in `changed`.
  Result<std::vector<ScheduledStep>> iteration_steps(std::uint32_t changed) {
    std::optional<BufferRef> flag;
    if (has_flag()) flag = flag_place(changed);
    FELSITE_TRY(auto made, body_.iteration(place(changed), flag));
    if (body_.comparisons) {
      FELSITE_TRY(auto comparisons, body_.comparisons(place(changed)));
      append(made, std::move(comparisons));
    }
    if (has_flag() && flag_words() > 1) {
      FELSITE_TRY(auto any,
                  writer_.runtime_step(GridKernel::Any, {flag_place(changed), place(changed)},
                                       flag_words()));
      made.push_back(std::move(any));
    }
    return made;
  }

  Result<void> add_first_iterations() {
    if (body_.comparisons) {
      // Stores the state before the first iteration. That this differs from old contents is no
      // change.
      FELSITE_TRY(auto state, body_.comparisons(place(kCount)));
      const bool has_state = !state.empty();
      append(out_.prefix, std::move(state));
      if (in_block_ != 0 && has_state) {
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
          writer_.begin_as_zeros(*closed);
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
    if (has_flag() && flag_words() > 1) {
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
    if (condition != kAlways) {
      FELSITE_TRY(iteration, gates_.behind(std::move(iteration), place(condition), gate));
    }
    append(to, std::move(iteration));
    return {};
  }

  void describe(IterationOutcome& outcome) const {
    outcome.always = 1;
    for (std::uint32_t iteration = 1; iteration < first_iterations_; ++iteration) {
      outcome.ran.push_back(place(before_place(iteration)));
    }
    for (std::uint32_t iteration = 0; iteration < in_block_; ++iteration) {
      outcome.ran.push_back(place(kFirst + iteration));
    }
    if (in_block_ != 0) outcome.counted = place(kCount);
    outcome.left = place(kLast);
    if (has_flag()) outcome.flag = flag_place(kLast);
  }

  static void append(std::vector<ScheduledStep>& to, std::vector<ScheduledStep> from) {
    std::ranges::move(from, std::back_inserter(to));
  }

  StepWriter& writer_;
  const ConvergingBody& body_;
  Schedule& out_;
  Gates gates_;
  std::uint32_t in_block_ = 0;
  std::uint32_t first_iterations_ = 0;
  std::uint32_t places_ = 0;
  std::uint64_t stride_ = 0;
  std::uint64_t flag_stride_ = 0;
  std::uint64_t flag_at_ = 0;
  std::uint32_t control_ = BufferRef::kUnbound;
};

}  // namespace

Result<void> write_converging(StepWriter& writer, const ConvergingBody& body,
                              IterationOutcome& outcome) {
  return Converging(writer, body).add(outcome);
}

}  // namespace felsite::dispatch
