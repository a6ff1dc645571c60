// Iterations whose control flow the host can resolve: one recording holds all their steps.
#include <algorithm>

#include "base/try.h"
#include "dispatch/forms/converging_iterations.h"
#include "dispatch/forms/schedule_writer.h"

namespace felsite::dispatch {
namespace {

class Iterations {
 public:
  Iterations(ScheduleWriter& writer, std::vector<FlatStep> walk)
      : writer_(writer), walk_(std::move(walk)), out_(writer.out()) {}

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
      std::ranges::move(iteration, std::back_inserter(out_.prefix));
      return;
    }
    out_.repeated = std::move(iteration);
    out_.count = writer_.rule().bound;
    // The block is watched, so that it is submitted in pieces.
    out_.watch = writer_.add_control(4, "going");
    writer_.begin_with(*out_.watch, {1});
  }

  Result<void> add_converging() {
    const std::optional<ir::BufferId> flag = writer_.rule().flag;
    const std::size_t compared = writer_.rule().compares ? writer_.plan().evolving.size() : 0;
    ConvergingBody body{.bound = writer_.rule().bound,
                        .steps = walk_.size() + compared,
                        .invocations = writer_.invocations_of(walk_.size() + compared + 2)};
    // The program works on words of the iteration instead of its flag, so nothing is cleared.
    if (flag) body.own_flag_words = writer_.request().counts[*flag];
    body.iteration = [&](const BufferRef& changed, const std::optional<BufferRef>& flag_words) {
      IterationBuffers buffers;
      buffers.changed = changed;
      buffers.flag = flag_words;
      return Result<std::vector<ScheduledStep>>(segments(buffers));
    };
    if (writer_.rule().compares) {
      body.comparisons = [&](const BufferRef& changed) { return writer_.comparisons(changed); };
    }
    FELSITE_CHECK(write_converging(writer_, body, *out_.outcome));
    if (flag) out_.outcome->flag_buffer = writer_.callers_buffer(*flag);
    return {};
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

  ScheduleWriter& writer_;
  const std::vector<FlatStep> walk_;
  Schedule& out_;
};

}  // namespace

Result<void> write_iterations(ScheduleWriter& writer, std::vector<FlatStep> walk) {
  return Iterations(writer, std::move(walk)).add();
}

}  // namespace felsite::dispatch
