// The work of the contract on resident memory: submissions, recordings, iterations.
#include <algorithm>

#include "dispatch/contract/caller_memory.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/resident_iterations.h"
#include "dispatch/facade/resident_submission.h"
#include "dispatch/facade/submission_run.h"
#include "dispatch/state/recording_keys.h"
#include "dispatch/telemetry/counters.h"

namespace felsite {
namespace dispatch {
namespace {

Result<void> check_time(const OpenDevice& open,
                        const std::optional<std::chrono::nanoseconds>& timeout) {
  if (base::check_timeout(timeout)) return {};
  return std::unexpected(open.service->timeout_error());
}

// Takes a recording that has run before, or makes one. Errors in the work itself come before an
// expired timeout, and both come before anything is recorded.
template <class Resolve>
Result<std::shared_ptr<Recorded>> take_or_record(
    OpenDevice& open, const ir::Fingerprint& key,
    const std::optional<std::chrono::nanoseconds>& timeout, Resolve resolve) {
  if (PooledRecording known = open.recordings.take(key); known.recorded != nullptr) {
    auto time = check_time(open, timeout);
    if (time) return std::move(known.recorded);
    open.recordings.release(key, std::move(known));
    return std::unexpected(std::move(time.error()));
  }
  return open.with_eviction([&]() -> Result<std::shared_ptr<Recorded>> {
    FELSITE_TRY(auto submission, resolve());
    FELSITE_CHECK(check_time(open, timeout));
    return open.record(std::move(submission));
  });
}

// The programs of all steps, in the order in which errors number them.
std::vector<ir::Program> programs_of(const ResidentSubmission& submission) {
  std::vector<ir::Program> programs;
  const auto add = [&](std::span<const ResidentStep> steps) {
    for (const ResidentStep& step : steps) programs.push_back(step.program);
  };
  add(submission.prefix);
  add(submission.repeated);
  for (const ResidentBlock& block : submission.blocks) add(block.steps);
  return programs;
}

SubmissionRun::Steps steps_of(const ResidentSubmission& submission) {
  SubmissionRun::Steps steps{.iterations = submission.repeated.empty() ? 1 : submission.count,
                             .programs = programs_of(submission)};
  for (const ResidentBlock& block : submission.blocks) {
    const bool can_end = block.repeat.kind != Repeat::Kind::Times && !block.steps.empty();
    steps.bounds.push_back(can_end ? block.repeat.bound : 0);
  }
  return steps;
}

// Returns a recording to the pool after a run, unless a buffer was freed meanwhile: it must not
// keep that memory. A call that frees searches the pool, but not recordings that are running then.
void release_recording(OpenDevice& open, const ir::Fingerprint& key,
                       std::shared_ptr<Recorded> recorded, std::uint64_t removals_before) {
  if (recorded == nullptr) return;
  open.recordings.release(key, {std::move(recorded)});
  if (removals_before != open.buffers.removals()) open.recordings.forget(key);
}

// The buffers that the submission uses, each once.
std::vector<ResidentHandle> handles_of(const ResidentSubmission& submission) {
  std::vector<ResidentHandle> handles;
  for (const ResidentFill& fill : submission.fills) handles.push_back(fill.buffer);
  for (const ResidentUpload& upload : submission.uploads) handles.push_back(upload.buffer);
  for (const ResidentRange& read : submission.reads) handles.push_back(read.buffer);
  const auto add = [&](std::span<const ResidentStep> steps) {
    for (const ResidentStep& step : steps) {
      for (const ResidentResource& resource : step.resources) {
        if (!resource.bytes) handles.push_back(resource.buffer);
      }
    }
  };
  add(submission.prefix);
  add(submission.repeated);
  for (const ResidentBlock& block : submission.blocks) {
    add(block.steps);
    if (block.repeat.kind == Repeat::Kind::UntilFlagIsZero) {
      handles.push_back(block.repeat.flag.buffer);
    }
  }
  const auto by_slot = [](const ResidentHandle& a, const ResidentHandle& b) {
    return std::pair(a.slot, a.generation) < std::pair(b.slot, b.generation);
  };
  std::ranges::sort(handles, by_slot);
  handles.erase(std::unique(handles.begin(), handles.end()), handles.end());
  return handles;
}

// A recording that a caller holds.
struct HeldRecording final : Held {
  // A start that fails gives the recording back while it is held.
  std::recursive_mutex mutex;
  SharedDevice open;  // declared before the recording, which needs it until it is destroyed
  std::shared_ptr<Recorded> recorded;
  bool is_pending = false;              // a run was started that nobody has waited for
  std::vector<ResidentHandle> handles;  // that it uses
  std::uint64_t removals_seen = UINT64_MAX;

  void release() override {
    const std::lock_guard lock(mutex);
    recorded.reset();
    open.reset();
  }
  std::shared_ptr<Recorded> take_user(const Allocation& memory) override {
    const std::unique_lock idle(mutex, std::try_to_lock);
    if (!idle || recorded == nullptr || !recorded->uses(memory)) return nullptr;
    return std::move(recorded);
  }

  // With the lock held. Handles can become invalid only when something is freed, so most runs need
  // not check them.
  Result<void> check_handles(const OpenDevice* now) {
    if (now == nullptr || now != open.get()) {
      recorded.reset();
      return std::unexpected(base::invalid_handle(
          "The recording was made on a device that was lost.", "record the sequence again."));
    }
    const std::uint64_t removals = now->buffers.removals();
    if (removals == removals_seen) return {};
    for (const ResidentHandle& handle : handles) {
      if (auto alive = now->buffers.find(handle); !alive) {
        recorded.reset();  // this releases the freed memory
        return std::unexpected(std::move(alive.error()));
      }
    }
    removals_seen = removals;
    return {};
  }
};

class Sequence final : public RecordedSequence {
 public:
  Sequence(BackendLink<BackendCore> link, SharedDevice open, std::shared_ptr<Recorded> recorded,
           const ResidentSubmission& submission, SubmissionConfig config)
      : link_(std::move(link)),
        config_(std::move(config)),
        uploads_(submission.uploads.begin(), submission.uploads.end()),
        lent_(lent_bytes(submission)),
        steps_(steps_of(submission)) {
    held_->handles = handles_of(submission);
    held_->open = std::move(open);
    held_->recorded = std::move(recorded);
    held_->open->track(held_);
  }
  ~Sequence() override { held_->release(); }

  Result<DispatchTiming> run_into(std::vector<Bytes>& outputs, std::span<const ByteSpan> uploads,
                                  std::span<const ByteSpan> lent) override {
    return link_.call([&](BackendCore& core) {
      return core.call("run recording", [&](const SharedDevice& now) {
        return run_on(now, outputs, uploads, lent);
      });
    });
  }

  Result<std::unique_ptr<PendingDispatch>> start(std::span<const ByteSpan> uploads,
                                                 std::span<const ByteSpan> lent) override {
    return link_.call([&](BackendCore& core) {
      return core.call("start recording",
                       [&](const SharedDevice& now) -> Result<std::unique_ptr<PendingDispatch>> {
                         const std::lock_guard lock(held_->mutex);
                         FELSITE_CHECK(check(now));
                         FELSITE_TRY(auto started,
                                     start_run(now, uploads, lent, [held = held_](auto recorded) {
                                       const std::lock_guard back(held->mutex);
                                       held->is_pending = false;
                                       held->recorded = std::move(recorded);
                                       static_cast<void>(held->check_handles(held->open.get()));
                                     }));
                         held_->is_pending = true;
                         return make_pending(core, now, {}, std::move(started));
                       });
    });
  }

 private:
  // With the lock held.
  Result<void> check(const SharedDevice& now) {
    if (held_->is_pending) {
      return std::unexpected(base::dispatch_failed("An earlier run of the recording is under way.",
                                                   "wait for it, or record the sequence again."));
    }
    FELSITE_CHECK(held_->check_handles(now.get()));
    if (held_->recorded != nullptr) return {};
    return std::unexpected(base::dispatch_failed(
        "An earlier run of the recording did not end well.", "record the sequence again."));
  }

  Result<DispatchTiming> run_on(const SharedDevice& now, std::vector<Bytes>& outputs,
                                std::span<const ByteSpan> uploads, std::span<const ByteSpan> lent) {
    const std::lock_guard lock(held_->mutex);  // runs come one after the other
    FELSITE_CHECK(check(now));
    FELSITE_CHECK(check_time(*now, config_.timeout));
    FELSITE_TRY(auto started, start_run(now, uploads, lent, [this](auto recorded) {
                  held_->recorded = std::move(recorded);
                }));
    auto timing = started.finish(outputs, nullptr, Slots::Callers);
    // Buffers that were freed during the run are released now.
    static_cast<void>(held_->check_handles(now.get()));
    return timing;
  }

  Result<SubmissionRun> start_run(const SharedDevice& now, std::span<const ByteSpan> uploads,
                                  std::span<const ByteSpan> lent,
                                  SubmissionRun::GiveBack give_back) {
    if (!uploads.empty()) FELSITE_CHECK(check_fresh_uploads(uploads_, uploads));
    if (!lent.empty()) FELSITE_CHECK(check_fresh_lent(lent_, lent));
    std::vector<ByteSpan> bytes(uploads.begin(), uploads.end());
    if (uploads.empty()) {
      for (const ResidentUpload& upload : uploads_) bytes.push_back(upload.bytes);
    }
    const std::span<const ByteSpan> now_lent = lent.empty() ? lent_ : lent;
    bytes.insert(bytes.end(), now_lent.begin(), now_lent.end());
    return SubmissionRun::start(now, std::move(held_->recorded), bytes, config_.timeout, steps_,
                                std::move(give_back));
  }

  const BackendLink<BackendCore> link_;
  const std::shared_ptr<HeldRecording> held_ = std::make_shared<HeldRecording>();
  const SubmissionConfig config_;
  const std::vector<ResidentUpload> uploads_;
  const std::vector<ByteSpan> lent_;
  const SubmissionRun::Steps steps_;
};

// A submission that was not recorded by the caller: it takes its recording out of the pool, and
// gives it back.
Result<SubmissionRun> start_submission(const SharedDevice& open,
                                       const ResidentSubmission& submission,
                                       const SubmissionConfig& config, bool checks_time) {
  const ir::Fingerprint key = key_of(submission, config.label, config.profile || tracing());
  const std::uint64_t removals = open->buffers.removals();
  const auto timeout = checks_time ? config.timeout : std::nullopt;
  FELSITE_TRY(auto recorded, take_or_record(*open, key, timeout,
                                            [&] { return resolve(*open, submission, config); }));
  std::vector<ByteSpan> uploads;
  for (const ResidentUpload& upload : submission.uploads) uploads.push_back(upload.bytes);
  std::ranges::copy(lent_bytes(submission), std::back_inserter(uploads));
  return SubmissionRun::start(open, std::move(recorded), uploads, config.timeout,
                              steps_of(submission), [open, key, removals](auto back) {
                                release_recording(*open, key, std::move(back), removals);
                              });
}

}  // namespace

Result<DispatchTiming> run_iterations(Backend& backend, const ir::Program& program,
                                      std::span<const ResidentResource> resources,
                                      const DispatchConfig& config) {
  BackendCore& core = BackendCore::of(backend);
  auto timing =
      core.call("dispatch_resident", [&](const SharedDevice& open) -> Result<DispatchTiming> {
        const ResidentStep step = step_of(program, resources, config);
        FELSITE_TRY(const auto grid, read_grid(*open, step, config));
        const ir::Fingerprint key = key_of(step, config, grid, config.profile || tracing());
        const std::uint64_t removals = open->buffers.removals();
        FELSITE_TRY(auto recorded, take_or_record(*open, key, config.timeout, [&] {
                      return resolve_iterations(*open, step, config, grid);
                    }));
        const std::vector<ByteSpan> lent = lent_bytes({.prefix = {&step, 1}});
        FELSITE_TRY(auto started, SubmissionRun::start(open, std::move(recorded), lent,
                                                       config.timeout, {}, [&](auto back) {
                                                         release_recording(
                                                             *open, key, std::move(back), removals);
                                                       }));
        std::vector<Bytes> flag;  // see resolve_iterations
        auto ran = started.finish(flag, nullptr, Slots::Own);
        if (!ran) return ran;
        if (!flag.empty()) ran->converged = is_all_zero(flag.front());
        note_iterations(*ran, config);
        if (!needs_grid_sync_form(program, config)) count(Counter::IterationsRun);
        return ran;
      });
  if (!timing) base::set_if_possible(timing.error().context.program, program.name());
  return timing;
}

}  // namespace dispatch

using dispatch::SharedDevice;

Result<DispatchTiming> Backend::submit_resident(const ResidentSubmission& submission,
                                                std::vector<Bytes>& outputs,
                                                const SubmissionConfig& config) {
  return core_->call("submit_resident", [&](const SharedDevice& open) -> Result<DispatchTiming> {
    FELSITE_TRY(auto run, dispatch::start_submission(open, submission, config,
                                                     /*checks_time=*/true));
    return run.finish(outputs, nullptr, dispatch::Slots::Callers);
  });
}

Result<std::unique_ptr<PendingDispatch>> Backend::submit_resident_async(
    const ResidentSubmission& submission, const SubmissionConfig& config) {
  return core_->call("submit_resident_async",
                     [&](const SharedDevice& open) -> Result<std::unique_ptr<PendingDispatch>> {
                       FELSITE_TRY(auto run, dispatch::start_submission(open, submission, config,
                                                                        /*checks_time=*/false));
                       return dispatch::make_pending(*core_, open, {}, std::move(run));
                     });
}

Result<std::unique_ptr<RecordedSequence>> Backend::record_resident(
    const ResidentSubmission& submission, const SubmissionConfig& config) {
  return core_->call("record_resident",
                     [&](const SharedDevice& open) -> Result<std::unique_ptr<RecordedSequence>> {
                       FELSITE_TRY(auto recorded, open->with_eviction([&] {
                         return base::guarded([&]() -> Result<std::shared_ptr<dispatch::Recorded>> {
                           FELSITE_TRY(auto resolved, dispatch::resolve(*open, submission, config));
                           return open->record(std::move(resolved));
                         });
                       }));
                       return std::make_unique<dispatch::Sequence>(
                           core_->link(), open, std::move(recorded), submission, config);
                     });
}

}  // namespace felsite
