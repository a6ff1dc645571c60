// The work of the contract on resident memory: submissions, recordings, iterations.
#include <algorithm>

#include "dispatch/contract/caller_memory.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/facade/backend_core.h"
#include "dispatch/facade/resident_iterations.h"
#include "dispatch/facade/resident_submission.h"
#include "dispatch/telemetry/counters.h"

namespace felsite {
namespace dispatch {
namespace {

Result<void> check_time(const OpenDevice& open,
                        const std::optional<std::chrono::nanoseconds>& timeout) {
  if (base::check_timeout(timeout)) return {};
  return std::unexpected(open.service->timeout_error());
}

Result<void> read_all(const Recorded& recorded, std::vector<Bytes>& outputs) {
  const std::vector<std::uint64_t> sizes = recorded.read_sizes();
  count_slots(outputs, sizes);
  outputs.resize(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    outputs[i].resize(sizes[i]);
    FELSITE_CHECK(recorded.read(i, outputs[i]));
  }
  return {};
}

// Starts, waits, reads. `recorded` becomes null if it cannot run again.
Result<DispatchTiming> run(const OpenDevice& open, std::shared_ptr<Recorded>& recorded,
                           std::span<const ByteSpan> uploads, std::vector<Bytes>& outputs,
                           const std::optional<std::chrono::nanoseconds>& timeout) {
  const base::Deadline deadline(timeout);
  auto started = open.service->start(recorded, uploads, deadline.remaining());
  if (!started) {
    recorded = nullptr;
    return std::unexpected(std::move(started.error()));
  }
  auto timing = (*started)->wait(deadline.remaining(), nullptr);
  if ((*started)->was_given_up()) recorded = nullptr;
  if (!timing) return timing;
  FELSITE_CHECK(read_all(*recorded, outputs));
  return timing;
}

// Takes a recording that has run before, or makes one. Errors in the work itself come before an
// expired timeout, and both come before anything is recorded.
template <class Resolve>
Result<std::shared_ptr<Recorded>> take_or_record(
    BackendCore& core, OpenDevice& open, const ir::Fingerprint& key,
    const std::optional<std::chrono::nanoseconds>& timeout, Resolve resolve) {
  if (PooledRecording known = open.recordings.take(key); known.recorded != nullptr) {
    auto time = check_time(open, timeout);
    if (time) return std::move(known.recorded);
    open.recordings.release(key, std::move(known));
    return std::unexpected(std::move(time.error()));
  }
  return core.with_eviction(open, [&]() -> Result<std::shared_ptr<Recorded>> {
    FELSITE_TRY(auto submission, resolve());
    FELSITE_CHECK(check_time(open, timeout));
    return open.record(std::move(submission));
  });
}

// Returns a recording to the pool after a run, unless a buffer was freed meanwhile: it must not
// keep that memory. A call that frees searches the pool, but not recordings that are running then.
void release_recording(OpenDevice& open, const ir::Fingerprint& key,
                       std::shared_ptr<Recorded> recorded, std::uint64_t removals_before) {
  if (recorded == nullptr) return;
  open.recordings.release(key, {std::move(recorded)});
  if (removals_before != open.buffers.removals()) open.recordings.forget(key);
}

// A recording that a caller holds.
struct HeldRecording final : Held {
  std::mutex mutex;
  SharedDevice open;  // declared before the recording, which needs it until it is destroyed
  std::shared_ptr<Recorded> recorded;

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
};

// The buffers that the submission uses, each once.
std::vector<ResidentHandle> handles_of(const ResidentSubmission& submission) {
  std::vector<ResidentHandle> handles;
  for (const ResidentFill& fill : submission.fills) handles.push_back(fill.buffer);
  for (const ResidentUpload& upload : submission.uploads) handles.push_back(upload.buffer);
  for (const ResidentRange& read : submission.reads) handles.push_back(read.buffer);
  for (const auto& steps : {submission.prefix, submission.repeated}) {
    for (const ResidentStep& step : steps) {
      for (const ResidentResource& resource : step.resources) handles.push_back(resource.buffer);
    }
  }
  const auto by_slot = [](const ResidentHandle& a, const ResidentHandle& b) {
    return std::pair(a.slot, a.generation) < std::pair(b.slot, b.generation);
  };
  std::ranges::sort(handles, by_slot);
  handles.erase(std::unique(handles.begin(), handles.end()), handles.end());
  return handles;
}

class Sequence final : public RecordedSequence {
 public:
  Sequence(BackendLink<BackendCore> link, SharedDevice open, std::shared_ptr<Recorded> recorded,
           const ResidentSubmission& submission, SubmissionConfig config)
      : link_(std::move(link)),
        config_(std::move(config)),
        uploads_(submission.uploads.begin(), submission.uploads.end()),
        handles_(handles_of(submission)) {
    held_->open = std::move(open);
    held_->recorded = std::move(recorded);
    held_->open->track(held_);
    for (const ResidentUpload& upload : uploads_) recorded_bytes_.push_back(upload.bytes);
  }
  ~Sequence() override { held_->release(); }

  Result<DispatchTiming> run_into(std::vector<Bytes>& outputs,
                                  std::span<const ByteSpan> uploads) override {
    return link_.call([&](BackendCore& core) {
      return core.call("run recording",
                       [&](const SharedDevice& now) { return run_on(*now, outputs, uploads); });
    });
  }

 private:
  // Handles can become invalid only when something is freed, so most runs need not check them.
  Result<void> check_handles(const OpenDevice& now) {
    if (&now != held_->open.get()) {
      held_->recorded.reset();
      return std::unexpected(base::invalid_handle(
          "The recording was made on a device that was lost.", "record the sequence again."));
    }
    const std::uint64_t removals = now.buffers.removals();
    if (removals == removals_seen_) return {};
    for (const ResidentHandle& handle : handles_) {
      if (auto alive = now.buffers.find(handle); !alive) {
        held_->recorded.reset();  // this releases the freed memory
        return std::unexpected(std::move(alive.error()));
      }
    }
    removals_seen_ = removals;
    return {};
  }

  Result<DispatchTiming> run_on(const OpenDevice& now, std::vector<Bytes>& outputs,
                                std::span<const ByteSpan> uploads) {
    const std::lock_guard lock(held_->mutex);
    FELSITE_CHECK(check_handles(now));
    if (held_->recorded == nullptr) {
      return std::unexpected(base::dispatch_failed(
          "An earlier run of the recording did not end well.", "record the sequence again."));
    }
    FELSITE_CHECK(check_time(now, config_.timeout));
    if (!uploads.empty()) {
      FELSITE_CHECK(check_fresh_uploads(uploads_, uploads));
    }
    auto timing = run(now, held_->recorded, uploads.empty() ? recorded_bytes_ : uploads, outputs,
                      config_.timeout);
    // Buffers that were freed during the run are released now.
    static_cast<void>(check_handles(now));
    return timing;
  }

  const BackendLink<BackendCore> link_;
  const std::shared_ptr<HeldRecording> held_ = std::make_shared<HeldRecording>();
  const SubmissionConfig config_;
  const std::vector<ResidentUpload> uploads_;
  const std::vector<ResidentHandle> handles_;
  std::vector<ByteSpan> recorded_bytes_;
  std::uint64_t removals_seen_ = UINT64_MAX;
};

}  // namespace

Result<DispatchTiming> run_iterations(Backend& backend, const ir::Program& program,
                                      std::span<const ResidentResource> resources,
                                      const DispatchConfig& config) {
  BackendCore& core = BackendCore::of(backend);
  auto timing =
      core.call("dispatch_resident", [&](const SharedDevice& open) -> Result<DispatchTiming> {
        const ResidentStep step = step_of(program, resources, config);
        const ir::Fingerprint key = key_of(step, config, config.profile || tracing());
        const std::uint64_t removals = open->buffers.removals();
        FELSITE_TRY(auto recorded, take_or_record(core, *open, key, config.timeout, [&] {
                      return resolve_iterations(*open, step, config);
                    }));
        std::vector<Bytes> flag;  // see resolve_iterations
        auto ran = run(*open, recorded, {}, flag, config.timeout);
        release_recording(*open, key, std::move(recorded), removals);
        if (!ran) return ran;
        if (!flag.empty()) {
          ran->converged = is_all_zero(flag.front());
        }
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
    const ir::Fingerprint key =
        dispatch::key_of(submission, config.label, config.profile || dispatch::tracing());
    const std::uint64_t removals = open->buffers.removals();
    FELSITE_TRY(auto recorded, dispatch::take_or_record(*core_, *open, key, config.timeout, [&] {
                  return dispatch::resolve(*open, submission, config);
                }));
    std::vector<ByteSpan> uploads;
    for (const ResidentUpload& upload : submission.uploads) uploads.push_back(upload.bytes);
    auto timing = dispatch::run(*open, recorded, uploads, outputs, config.timeout);
    dispatch::release_recording(*open, key, std::move(recorded), removals);
    return timing;
  });
}

Result<std::unique_ptr<RecordedSequence>> Backend::record_resident(
    const ResidentSubmission& submission, const SubmissionConfig& config) {
  return core_->call("record_resident",
                     [&](const SharedDevice& open) -> Result<std::unique_ptr<RecordedSequence>> {
                       FELSITE_TRY(auto recorded, core_->with_eviction(*open, [&] {
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
