#include "vk/submitted_run.h"

#include <algorithm>
#include <utility>

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "vk/schedule/make_sequence.h"
#include "vk/schedule/outcome.h"

namespace felsite::vk {
namespace {

// Most stages in one submission, for the sake of displays and watchdogs.
constexpr std::size_t kMaxStagesAtOnce = 16;

}  // namespace

Result<std::shared_ptr<dispatch::Recorded>> RecordedSubmission::make(
    Engine& engine, dispatch::Submission submission) {
  std::shared_ptr<RecordedSubmission> made(new RecordedSubmission);
  for (std::size_t i = 0; i < submission.stages.size(); ++i) {
    dispatch::PlacedStage& placed = submission.stages[i];
    if (placed.late) {
      made->stages_.push_back({.late = std::move(placed.late), .memory = std::move(placed.memory)});
      continue;
    }
    FELSITE_TRY(auto sequence, make_sequence(engine, submission, i));
    if (sequence.iterations && sequence.iterations->flag) {
      made->flag_ = slice_in(sequence.scheduled, sequence.iterations->flag_buffer);
    }
    FELSITE_TRY(auto recording, engine.record(std::move(sequence)));
    made->stages_.push_back({std::move(recording), std::move(placed.stage.outcomes)});
  }
  made->loops_ = std::move(submission.loops);
  made->block_timings_ = std::move(submission.block_timings);
  made->step_count_ = submission.step_count;
  return made;
}

Result<void> RecordedSubmission::make_ready(Engine& engine, Stage& stage) {
  const BufferSlice source = slice_of(stage.late->words);
  Bytes words(source.bytes);
  const DownloadRange download{source, words};
  FELSITE_CHECK(engine.transfers().download({&download, 1}));
  if (stage.recording != nullptr && stage.words == words) return {};
  stage.words.reset();
  stage.recording.reset();  // its memory may be needed for the next
  FELSITE_TRY(const auto made, stage.late->record(words));
  Stage& only = static_cast<RecordedSubmission&>(*made).stages_.front();
  stage.recording = std::move(only.recording);
  stage.outcomes = std::move(only.outcomes);
  stage.words = std::move(words);
  return {};
}

bool RecordedSubmission::uses(const dispatch::Allocation& memory) const {
  const auto is_it = [&](const dispatch::MemoryRange& range) {
    return range.memory.get() == &memory;
  };
  return std::ranges::any_of(stages_, [&](const Stage& stage) {
    if (std::ranges::any_of(stage.memory, is_it)) return true;
    return stage.recording != nullptr && stage.recording->uses(static_cast<const Buffer*>(&memory));
  });
}

bool RecordedSubmission::uses(const dispatch::CompiledKernel& kernel) const {
  return std::ranges::any_of(stages_, [&](const Stage& stage) {
    return stage.recording != nullptr &&
           stage.recording->uses(static_cast<const KernelOnDevice*>(&kernel));
  });
}

std::uint64_t RecordedSubmission::own_bytes() const {
  std::uint64_t bytes = 0;
  for (const Stage& stage : stages_) {
    if (stage.recording != nullptr) bytes += stage.recording->own_bytes();
  }
  return bytes;
}

std::vector<std::uint64_t> RecordedSubmission::read_sizes() const {
  std::vector<std::uint64_t> sizes;
  for (const BufferSlice& read : stages_.back().recording->sequence().reads) {
    sizes.push_back(read.bytes);
  }
  return sizes;
}

Result<void> RecordedSubmission::read(std::size_t index, std::span<std::byte> bytes) const {
  const Recording& last = *stages_.back().recording;
  const BufferSlice& slice = last.sequence().reads[index];
  if (!flag_ || !overlap(slice, *flag_)) return last.read(index, bytes);
  FELSITE_TRY(const auto words, flag_words());
  dispatch::count(Counter::DownloadBytes, bytes.size());
  std::ranges::copy(std::as_bytes(std::span(words)).first(bytes.size()), bytes.begin());
  return {};
}

Result<std::vector<std::uint32_t>> RecordedSubmission::flag_words() const {
  const Recording& program = *stages_.front().recording;
  const Sequence& sequence = program.sequence();
  return program.read_words(slice_in(sequence.scheduled, *sequence.iterations->flag));
}

SubmittedRun::SubmittedRun(std::shared_ptr<Engine> engine,
                           std::shared_ptr<RecordedSubmission> recorded)
    : engine_(std::move(engine)), recorded_(std::move(recorded)) {
  in_flight_.reserve(recorded_->stages_.size());
  timing_.blocks = recorded_->block_timings_;
  timing_.iterations_run = 1;
}

SubmittedRun::~SubmittedRun() {
  for (InFlight& one : in_flight_) engine_->abandon(std::move(one.running));
}

Result<std::unique_ptr<dispatch::Run>> SubmittedRun::start(
    std::shared_ptr<Engine> engine, std::shared_ptr<RecordedSubmission> recorded,
    std::span<const ByteSpan> uploads) {
  std::unique_ptr<SubmittedRun> run(new SubmittedRun(std::move(engine), std::move(recorded)));
  FELSITE_CHECK(run->submit(uploads));
  return run;
}

const dispatch::HostLoop* SubmittedRun::loop_after(std::uint32_t stage) const {
  const auto& loops = recorded_->loops_;
  const auto found = std::ranges::find(loops, stage + 1, &dispatch::HostLoop::end);
  return found == loops.end() ? nullptr : &*found;
}

// The next stages that go into one submission. The last of them may need more.
std::vector<std::shared_ptr<Recording>> SubmittedRun::take_together() {
  std::vector<std::shared_ptr<Recording>> taken;
  bool can_go_on = true;
  while (can_go_on && next_ < recorded_->stages_.size() && taken.size() < kMaxStagesAtOnce) {
    if (!taken.empty() && recorded_->stages_[next_].late) break;
    taken.push_back(std::move(recorded_->stages_[next_].recording));
    can_go_on = taken.back()->can_go_before_others() && loop_after(next_) == nullptr;
    ++next_;
  }
  return taken;
}

// Stages up to the first one that needs the host, or up to one that needs it before.
Result<void> SubmittedRun::submit(std::span<const ByteSpan> uploads) {
  while (next_ < recorded_->stages_.size()) {
    std::uint32_t stage = next_;
    if (recorded_->stages_[stage].late) {
      if (!in_flight_.empty()) break;
      FELSITE_CHECK(RecordedSubmission::make_ready(*engine_, recorded_->stages_[stage]));
    }
    FELSITE_TRY(auto all, engine_->start(take_together(), std::exchange(uploads, {})));
    for (Running& running : all) in_flight_.push_back({stage++, std::move(running)});
    const bool is_whole = in_flight_.back().running.recording->is_fully_submitted();
    if (!is_whole || loop_after(next_ - 1) != nullptr) break;
  }
  return {};
}

// All that is in flight has ended: notes what it did. Whether more was submitted.
Result<bool> SubmittedRun::settle() {
  Result<void> done;
  std::uint32_t last = 0;
  for (InFlight& one : in_flight_) {
    last = one.stage;
    Running& running = one.running;
    if (!running.ended && !running.failed && running.recording != nullptr) {
      static_cast<void>(engine_->advance(running));
    }
    if (running.failed && done) done = std::unexpected(std::move(*running.failed));
    recorded_->stages_[one.stage].recording = std::move(running.recording);
    if (done) done = note_outcomes(one.stage, std::move(running.timing));
  }
  in_flight_.clear();
  FELSITE_CHECK(std::move(done));
  if (const dispatch::HostLoop* const loop = loop_after(last)) {
    ++loop_runs_;
    bool changed = true;
    if (loop->changed) {
      const Recording& recording = *recorded_->stages_[last].recording;
      FELSITE_TRY(const auto words,
                  recording.read_words(slice_in(recording.sequence().scheduled, *loop->changed)));
      changed = words.front() != 0;
    }
    timing_.blocks[loop->block] = {loop_runs_, !changed};
    if (changed && loop_runs_ < loop->bound) {
      next_ = loop->first;
    } else {
      loop_runs_ = 0;
    }
  }
  if (next_ == recorded_->stages_.size()) return false;
  FELSITE_CHECK(submit({}));
  return true;
}

bool SubmittedRun::advance() {
  while (!in_flight_.empty() && !failed_) {
    if (!engine_->advance(in_flight_.back().running)) return false;
    if (engine_->is_lost()) return true;  // the wait will report it
    auto more = base::guarded([&] { return settle(); });
    if (!more) failed_ = std::move(more.error());
  }
  return true;
}

Result<DispatchTiming> SubmittedRun::wait(std::chrono::nanoseconds timeout,
                                          const base::StopFlag* stop) {
  const base::Deadline deadline(timeout);
  while (!in_flight_.empty() && !failed_) {
    Running& last = in_flight_.back().running;
    auto finished = engine_->finish(last, deadline.remaining(), stop);
    const bool was_given_up = last.recording == nullptr;
    if (was_given_up) return std::unexpected(std::move(finished.error()));
    // An earlier stage may have failed, too, and that came first.
    if (!finished && !last.failed) last.failed = std::move(finished.error());
    FELSITE_CHECK(settle());
    if (in_flight_.empty()) break;
    if (deadline.remaining().count() == 0) return std::unexpected(engine_->queue().timed_out());
    if (auto reason = base::reason_to_end({}, stop)) return std::unexpected(std::move(*reason));
  }
  if (failed_) return std::unexpected(std::move(*failed_));
  const auto wall = std::chrono::steady_clock::now() - began_;
  timing_.wall_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(wall).count());
  timing_.wait_ns = *timing_.wall_ns - std::min(*timing_.wall_ns, timing_.enqueue_ns.value_or(0));
  if (recorded_->flag_ && !recorded_->first().is_alone) FELSITE_CHECK(write_flag());
  return timing_;
}

bool SubmittedRun::was_given_up() const {
  return std::ranges::any_of(recorded_->stages_, [](const RecordedSubmission::Stage& stage) {
    const bool is_made = !stage.late || stage.words;
    return is_made && stage.recording == nullptr;
  });
}

Result<void> SubmittedRun::note_outcomes(std::uint32_t stage, DispatchTiming timing) {
  const RecordedSubmission::Stage& of = recorded_->stages_[stage];
  const Recording& recording = *of.recording;
  timing_.enqueue_ns = timing_.enqueue_ns.value_or(0) + timing.enqueue_ns.value_or(0);
  if (timing.device_ns) timing_.device_ns = timing_.device_ns.value_or(0) + *timing.device_ns;
  if (recording.sequence().iterations) {
    timing_.step_device_ns = segment_times(recording.sequence(), timing.step_device_ns);
    return note_program(recording);
  }
  if (timing.device_ns) add_steps(recording.sequence(), timing.step_device_ns);
  for (const auto& [block, outcome] : of.outcomes) {
    FELSITE_TRY(const auto run, outcome_of(recording, outcome));
    dispatch::count(Counter::Launches, run.launches);
    if (block == dispatch::BlockOutcome::kNoBlock) continue;
    timing_.blocks[block] = {run.iterations, run.converged};
  }
  return {};
}

Result<void> SubmittedRun::note_program(const Recording& recording) {
  const dispatch::IterationOutcome& outcome = *recording.sequence().iterations;
  FELSITE_TRY(const auto run, outcome_of(recording, outcome));
  dispatch::count_iterations(outcome, run);
  timing_.iterations_run = run.iterations;
  timing_.converged = run.converged;
  return {};
}

// Sums what belongs to one of the caller's steps.
void SubmittedRun::add_steps(const Sequence& sequence, std::span<const std::uint64_t> step_ns) {
  timing_.step_device_ns.resize(recorded_->step_count_);
  const std::size_t prefix = sequence.prefix.size();
  for (std::size_t i = 0; i < step_ns.size(); ++i) {
    const KernelStep& step = i < prefix ? sequence.prefix[i] : sequence.repeated[i - prefix];
    if (step.caller_step) timing_.step_device_ns[*step.caller_step] += step_ns[i];
  }
}

Result<void> SubmittedRun::write_flag() {
  FELSITE_TRY(const auto words, recorded_->flag_words());
  const UploadRange upload{*recorded_->flag_,
                           std::as_bytes(std::span(words)).first(recorded_->flag_->bytes)};
  return engine_->transfers().upload({&upload, 1});
}

}  // namespace felsite::vk
