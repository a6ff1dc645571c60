#include "dispatch/facade/submission_run.h"

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/telemetry/counters.h"

namespace felsite::dispatch {
namespace {

Result<void> read_all(const Recorded& recorded, std::vector<Bytes>& outputs, Slots slots) {
  const std::vector<std::uint64_t> sizes = recorded.read_sizes();
  if (slots == Slots::Callers) count_slots(outputs, sizes);
  outputs.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    outputs[i].resize(sizes[i]);
    FELSITE_CHECK(recorded.read(i, outputs[i]));
  }
  return {};
}

// The prefix and the repeated steps are blocks, too.
constexpr std::ptrdiff_t kUnnamedBlocks = 2;

}  // namespace

Result<SubmissionRun> SubmissionRun::start(SharedDevice open, std::shared_ptr<Recorded> recorded,
                                           std::span<const ByteSpan> uploads,
                                           const std::optional<std::chrono::nanoseconds>& timeout,
                                           Steps steps, GiveBack give_back) {
  const base::Deadline deadline(timeout);
  SubmissionRun made(std::move(open), std::move(recorded), std::move(give_back),
                     timeout.value_or(kNoTimeout));
  made.steps_ = std::move(steps);
  if (!base::check_timeout(timeout)) {
    made.failed_ = made.open_->service->timeout_error();
    return made;
  }
  auto started = base::guarded(
      [&] { return made.open_->service->start(made.recorded_, uploads, deadline.remaining()); });
  if (!started) {
    made.recorded_ = nullptr;  // a part of it may have been started
    made.failed_ = made.open_->noted(std::move(started.error()));
    if (made.failed_->code == ErrorCode::DeviceOutOfMemory) return std::unexpected(*made.failed_);
    return made;
  }
  made.run_ = std::move(*started);
  if (timeout) made.timeout_ = deadline.remaining();
  return made;
}

void SubmissionRun::give_back(bool can_run_again) {
  if (!can_run_again) recorded_ = nullptr;
  if (give_back_) give_back_(std::move(recorded_));
  give_back_ = nullptr;
}

// One that has ended leaves its recording as `finish` would.
SubmissionRun::~SubmissionRun() {
  if (open_ == nullptr || !give_back_) return;  // moved, or finished
  base::best_effort([&] {
    bool can_run_again = run_ == nullptr;
    if (run_ != nullptr && !open_->service->runs_in_wait() && run_->advance()) {
      static_cast<void>(run_->wait(kNoTimeout, nullptr));
      can_run_again = !run_->was_given_up();
    }
    run_.reset();
    give_back(can_run_again);
  });
}

Result<DispatchTiming> SubmissionRun::finish(std::vector<Bytes>& outputs,
                                             const base::StopFlag* stop, Slots slots) {
  if (failed_) {
    give_back(/*can_run_again=*/true);
    return std::unexpected(std::move(*failed_));
  }
  // Also where the host runs out of memory, the recording must not be waited for again.
  auto timing = base::guarded([&] { return run_->wait(timeout_, stop); });
  // A run that was dropped leaves its recording to nobody, on every device.
  const bool can_run_again = !run_->was_given_up() && !base::reason_to_end({}, stop);
  run_.reset();
  Result<void> read;
  if (timing) read = base::guarded([&] { return read_all(*recorded_, outputs, slots); });
  give_back(can_run_again);
  if (!timing) {
    Error& error = timing.error();
    if (error.context.step && *error.context.step < steps_.programs.size()) {
      base::set_if_possible(error.context.program, steps_.programs[*error.context.step].name());
    }
    return timing;
  }
  if (!read) return std::unexpected(std::move(read.error()));
  if (steps_.iterations) {
    timing->iterations_run = *steps_.iterations;
    timing->blocks.erase(timing->blocks.begin(), timing->blocks.begin() + kUnnamedBlocks);
    count_iterations(timing->blocks);
  }
  return timing;
}

// Here, so that the counters mean the same on every backend.
void SubmissionRun::count_iterations(std::span<const BlockTiming> blocks) const {
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (steps_.bounds[i] == 0) continue;
    count(Counter::IterationsRun, blocks[i].iterations_run);
    if (!blocks[i].converged) continue;
    count(Counter::IterationsSkipped, steps_.bounds[i] - blocks[i].iterations_run);
  }
}

}  // namespace felsite::dispatch
