// The resident calls of the Vulkan backend: memory, submissions, recordings.
#include <algorithm>
#include <functional>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/contract/resident_checks.h"
#include "dispatch/schedule/routing.h"
#include "dispatch/telemetry/counters.h"
#include "vk/resident_sequence.h"
#include "vk/schedule/outcome.h"
#include "vk/vulkan_backend.h"

namespace felsite::vk {
namespace {

Result<void> check_timeout(Engine& engine, const std::optional<std::chrono::nanoseconds>& timeout) {
  if (!timeout || timeout->count() > 0) return {};
  return std::unexpected(engine.device().error(VK_TIMEOUT, "finish the work in no time"));
}

Result<void> read_all(const Recording& recording, std::vector<Bytes>& outputs) {
  const std::vector<BufferSlice>& reads = recording.sequence().reads;
  std::vector<std::uint64_t> sizes;
  for (const BufferSlice& read : reads) sizes.push_back(read.bytes);
  dispatch::count_slots(outputs, sizes);
  outputs.resize(reads.size());
  for (std::size_t i = 0; i < reads.size(); ++i) {
    outputs[i].resize(reads[i].bytes);
    FELSITE_CHECK(recording.read(i, outputs[i]));
  }
  return {};
}

// Called before the host writes or reads in place.
template <class Range>
Result<void> wait_until_unused(Engine& engine, std::span<const Range> ranges, auto slice_of,
                               std::chrono::nanoseconds timeout = kNoTimeout) {
  for (const Range& range : ranges) {
    const BufferSlice& slice = std::invoke(slice_of, range);
    if (!slice.buffer->is_mapped()) continue;
    FELSITE_CHECK(engine.wait_until_unused(*slice.buffer, timeout));
  }
  return {};
}

// Submits, waits, reads. `recording` becomes null if it cannot run again.
Result<DispatchTiming> run(Engine& engine, std::shared_ptr<Recording>& recording,
                           std::span<const ByteSpan> uploads, std::vector<Bytes>& outputs,
                           const SubmissionConfig& config) {
  const std::span<const BufferSlice> targets = recording->sequence().uploads;
  const std::chrono::nanoseconds timeout = config.timeout.value_or(kNoTimeout);
  const auto begin = std::chrono::steady_clock::now();
  FELSITE_CHECK(wait_until_unused(engine, targets, std::identity{}, timeout));
  FELSITE_TRY(auto running, engine.start(std::move(recording), uploads));
  const auto waited = std::chrono::steady_clock::now() - begin;
  auto timing = engine.finish(running, timeout == kNoTimeout ? timeout : timeout - waited);
  recording = std::move(running.recording);
  if (!timing) return timing;
  FELSITE_CHECK(read_all(*recording, outputs));
  timing->iterations_run = recording->sequence().repeated.empty() ? 1 : recording->block_runs();
  return timing;
}

// Reports the number of iterations, and copies what the last one left into the flag's buffer.
Result<void> report_iterations(Engine& engine, const Recording& recording, DispatchTiming& timing) {
  FELSITE_TRY(const auto iterations, iterations_of(recording));
  timing.iterations_run = iterations.iterations;
  timing.converged = iterations.converged;
  const Sequence& sequence = recording.sequence();
  timing.step_device_ns = segment_times(sequence, timing.step_device_ns);
  if (!sequence.flag) return {};
  if (sequence.iterations->flag) {
    FELSITE_TRY(const auto words,
                recording.read_words(slice_in(sequence.scheduled, *sequence.iterations->flag)));
    const auto bytes = std::as_bytes(std::span(words)).first(sequence.flag->bytes);
    const UploadRange upload{*sequence.flag, bytes};
    return engine.transfers().upload({&upload, 1});
  }
  if (sequence.iterations->bound > 1) return {};
  // After a single iteration nothing has read the flag yet.
  Bytes flag(sequence.flag->bytes);
  const DownloadRange download{*sequence.flag, flag};
  FELSITE_CHECK(engine.transfers().download({&download, 1}));
  timing.converged = std::ranges::all_of(flag, [](std::byte b) { return b == std::byte{0}; });
  return {};
}

// A recording that a caller holds.
struct HeldRecording final : Engine::Held {
  std::mutex mutex;
  std::shared_ptr<Engine>
      engine;  // declared before the recording, which needs it until it is destroyed
  std::shared_ptr<Recording> recording;

  void release() override {
    const std::lock_guard lock(mutex);
    recording.reset();
    engine.reset();
  }
  std::shared_ptr<Recording> take_user(const Buffer& buffer) override {
    const std::unique_lock idle(mutex, std::try_to_lock);
    if (!idle || recording == nullptr || !recording->uses(&buffer)) return nullptr;
    return std::move(recording);
  }
};

class VulkanRecording final : public RecordedSequence {
 public:
  VulkanRecording(dispatch::BackendLink<VulkanBackend> link, std::shared_ptr<Engine> engine,
                  std::shared_ptr<Recording> recording, const ResidentSubmission& submission,
                  SubmissionConfig config)
      : link_(std::move(link)),
        config_(std::move(config)),
        uploads_(submission.uploads.begin(), submission.uploads.end()) {
    held_->engine = std::move(engine);
    held_->recording = std::move(recording);
    held_->engine->track(held_);
    for (const ResidentUpload& upload : uploads_) recorded_bytes_.push_back(upload.bytes);
    note_handles(submission);
  }
  ~VulkanRecording() override { held_->release(); }

  Result<DispatchTiming> run_into(std::vector<Bytes>& outputs,
                                  std::span<const ByteSpan> uploads) override {
    return link_.call([&](VulkanBackend& backend) {
      return backend.call("run recording", [&](const std::shared_ptr<Engine>& now) {
        return run_on(now, outputs, uploads);
      });
    });
  }

 private:
  void note_handles(const ResidentSubmission& submission) {
    for (const ResidentFill& fill : submission.fills) handles_.push_back(fill.buffer);
    for (const ResidentUpload& upload : submission.uploads) handles_.push_back(upload.buffer);
    for (const ResidentRange& read : submission.reads) handles_.push_back(read.buffer);
    for (const auto& steps : {submission.prefix, submission.repeated}) {
      for (const ResidentStep& step : steps) {
        for (const ResidentResource& resource : step.resources) handles_.push_back(resource.buffer);
      }
    }
    const auto by_slot = [](const ResidentHandle& a, const ResidentHandle& b) {
      return std::pair(a.slot, a.generation) < std::pair(b.slot, b.generation);
    };
    std::ranges::sort(handles_, by_slot);
    handles_.erase(std::unique(handles_.begin(), handles_.end()), handles_.end());
  }

  // Handles can become invalid only when something is freed, so most runs need not check them.
  Result<void> check_handles(Engine& now) {
    if (&now != held_->engine.get()) {
      held_->recording.reset();
      return std::unexpected(base::invalid_handle(
          "The recording was made on a device that was lost.", "record the sequence again."));
    }
    const std::uint64_t removals = now.buffers().removals();
    if (removals == removals_seen_) return {};
    for (const ResidentHandle& handle : handles_) {
      if (auto alive = now.buffers().find(handle); !alive) {
        held_->recording.reset();  // this releases the freed memory
        return std::unexpected(std::move(alive.error()));
      }
    }
    removals_seen_ = removals;
    return {};
  }

  Result<DispatchTiming> run_on(const std::shared_ptr<Engine>& now, std::vector<Bytes>& outputs,
                                std::span<const ByteSpan> uploads) {
    const std::lock_guard lock(held_->mutex);
    FELSITE_CHECK(check_handles(*now));
    if (held_->recording == nullptr) {
      return std::unexpected(base::dispatch_failed(
          "An earlier run of the recording did not end well.", "record the sequence again."));
    }
    FELSITE_CHECK(check_timeout(*now, config_.timeout));
    if (!uploads.empty()) {
      FELSITE_CHECK(dispatch::check_fresh_uploads(uploads_, uploads));
    }
    auto timing =
        run(*now, held_->recording, uploads.empty() ? recorded_bytes_ : uploads, outputs, config_);
    // Buffers that were freed during the run are released now.
    static_cast<void>(check_handles(*now));
    return timing;
  }

  const dispatch::BackendLink<VulkanBackend> link_;
  const std::shared_ptr<HeldRecording> held_ = std::make_shared<HeldRecording>();
  const SubmissionConfig config_;
  const std::vector<ResidentUpload> uploads_;
  std::vector<ByteSpan> recorded_bytes_;
  std::vector<ResidentHandle> handles_;
  std::uint64_t removals_seen_ = UINT64_MAX;
};

// Returns a recording to the pool after a run, unless a buffer was freed meanwhile: it must not
// keep that memory. A call that frees searches the pool, but not recordings that are running then.
void release_recording(Engine& engine, const ir::Fingerprint& key,
                       std::shared_ptr<Recording> recording, std::uint64_t removals_before) {
  if (recording == nullptr) return;
  const std::uint64_t own_bytes = recording->own_bytes();
  engine.recordings().release(key, std::move(recording), own_bytes);
  if (removals_before != engine.buffers().removals()) engine.recordings().forget(key);
}

}  // namespace

Result<std::vector<ResidentHandle>> VulkanBackend::allocate_resident_many(
    std::span<const std::uint64_t> sizes) {
  const auto allocate = [&](Engine& engine) -> Result<std::vector<ResidentHandle>> {
    std::vector<SharedBuffer> buffers;
    for (const std::uint64_t size : sizes) {
      FELSITE_TRY(auto buffer, engine.memory().make(Place::Device, size, "resident"));
      buffers.push_back(std::move(buffer));
    }
    // All or nothing; removing handles again does not allocate.
    std::vector<ResidentHandle> handles;
    handles.reserve(buffers.size());
    auto added = base::guarded([&]() -> Result<void> {
      for (SharedBuffer& buffer : buffers) {
        handles.push_back(engine.buffers().add(std::move(buffer)));
      }
      return {};
    });
    if (added) return handles;
    for (const ResidentHandle& handle : handles) {
      static_cast<void>(engine.buffers().remove(handle));
    }
    return std::unexpected(std::move(added.error()));
  };
  return call("allocate_resident", [&](const std::shared_ptr<Engine>& engine) {
    return with_eviction(*engine, [&] { return allocate(*engine); });
  });
}

// Also names the buffer for debuggers.
Result<DeviceBuffer> VulkanBackend::allocate_device_buffer(std::uint64_t bytes, std::string label) {
  auto made = Backend::allocate_device_buffer(bytes, std::move(label));
  if (!made) return made;
  base::best_effort([&] {
    const auto engine = current();
    if (engine == nullptr) return;
    if (const auto buffer = engine->buffers().find(made->resident)) (*buffer)->name(made->label);
  });
  return made;
}

Result<std::uint64_t> VulkanBackend::resident_size(ResidentHandle handle) const {
  return call("resident_size", [&](const std::shared_ptr<Engine>& engine) -> Result<std::uint64_t> {
    FELSITE_TRY(const auto buffer, engine->buffers().find(handle));
    return buffer->bytes();
  });
}

Result<void> VulkanBackend::upload_resident_at_many(std::span<const ResidentUpload> uploads) {
  return call("upload_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<void> {
    FELSITE_TRY(const auto ranges, resolve_uploads(*engine, uploads));
    const std::span<const UploadRange> targets = ranges;
    FELSITE_CHECK(wait_until_unused(*engine, targets, &UploadRange::target));
    return engine->transfers().upload(targets);
  });
}

Result<void> VulkanBackend::download_resident_ranges_into(std::span<const ResidentRange> ranges,
                                                          std::vector<Bytes>& outputs) {
  return call("download_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<void> {
    FELSITE_TRY(const auto slices, resolve_reads(*engine, ranges));
    const std::span<const BufferSlice> sources = slices;
    FELSITE_CHECK(wait_until_unused(*engine, sources, std::identity{}));
    std::vector<std::uint64_t> sizes;
    for (const BufferSlice& slice : slices) sizes.push_back(slice.bytes);
    dispatch::count_slots(outputs, sizes);
    outputs.resize(slices.size());
    std::vector<DownloadRange> downloads;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      outputs[i].resize(slices[i].bytes);
      downloads.push_back({slices[i], outputs[i]});
    }
    return engine->transfers().download(downloads);
  });
}

Result<void> VulkanBackend::free_resident(ResidentHandle handle) {
  return call("free_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<void> {
    FELSITE_TRY(const auto buffer, engine->buffers().remove(handle));
    engine->drop_users(*buffer);
    return {};
  });
}

// Takes a recording that has run before, or makes one. Errors in the work itself come before an
// expired timeout, and both come before anything is recorded.
template <class MakeSequence>
Result<std::shared_ptr<Recording>> VulkanBackend::take_or_record(
    Engine& engine, const ir::Fingerprint& key,
    const std::optional<std::chrono::nanoseconds>& timeout, MakeSequence make) {
  if (std::shared_ptr<Recording> known = engine.recordings().take(key)) {
    auto time = check_timeout(engine, timeout);
    if (time) return known;
    const std::uint64_t own_bytes = known->own_bytes();
    engine.recordings().release(key, std::move(known), own_bytes);
    return std::unexpected(std::move(time.error()));
  }
  return with_eviction(engine, [&]() -> Result<std::shared_ptr<Recording>> {
    FELSITE_TRY(auto sequence, make());
    FELSITE_CHECK(check_timeout(engine, timeout));
    return engine.record(std::move(sequence));
  });
}

Result<DispatchTiming> VulkanBackend::submit_resident(const ResidentSubmission& submission,
                                                      std::vector<Bytes>& outputs,
                                                      const SubmissionConfig& config) {
  return call("submit_resident",
              [&](const std::shared_ptr<Engine>& engine) -> Result<DispatchTiming> {
                const ir::Fingerprint key =
                    key_of(submission, config.label, config.profile || dispatch::tracing());
                const std::uint64_t removals = engine->buffers().removals();
                FELSITE_TRY(auto recording, take_or_record(*engine, key, config.timeout, [&] {
                              return make_sequence(*engine, submission, config);
                            }));
                std::vector<ByteSpan> uploads;
                for (const ResidentUpload& upload : submission.uploads)
                  uploads.push_back(upload.bytes);
                auto timing = run(*engine, recording, uploads, outputs, config);
                release_recording(*engine, key, std::move(recording), removals);
                return timing;
              });
}

Result<void> VulkanBackend::check_resident_config(const ir::Program& program,
                                                  const DispatchConfig& config) const {
  const std::shared_ptr<Engine> engine = current();
  if (engine == nullptr) return Backend::check_resident_config(program, config);
  return dispatch::check_resident_config(program, config, engine->profile());
}

Result<DispatchTiming> VulkanBackend::dispatch_resident_iterations(
    const ir::Program& program, std::span<const ResidentResource> resources,
    const DispatchConfig& config) {
  // One kernel that runs once: its flag is cleared and read in the submission itself.
  if (!dispatch::needs_grid_sync_form(program, config)) {
    return Backend::dispatch_resident_iterations(program, resources, config);
  }
  auto timing = call(
      "dispatch_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<DispatchTiming> {
        const ResidentStep step = dispatch::step_of(program, resources, config);
        const SubmissionConfig how{
            .timeout = config.timeout, .profile = config.profile, .label = config.label};
        const ir::Fingerprint key = key_of(step, config, config.profile || dispatch::tracing());
        const std::uint64_t removals = engine->buffers().removals();
        FELSITE_TRY(auto recording, take_or_record(*engine, key, config.timeout, [&] {
                      return make_grid_sequence(*engine, step, config);
                    }));
        std::vector<Bytes> nothing;
        auto ran = run(*engine, recording, {}, nothing, how);
        if (ran) {
          FELSITE_CHECK(report_iterations(*engine, *recording, *ran));
        }
        release_recording(*engine, key, std::move(recording), removals);
        return ran;
      });
  if (!timing) base::set_if_possible(timing.error().context.program, program.name());
  return timing;
}

Result<std::unique_ptr<RecordedSequence>> VulkanBackend::record_resident(
    const ResidentSubmission& submission, const SubmissionConfig& config) {
  return call(
      "record_resident",
      [&](const std::shared_ptr<Engine>& engine) -> Result<std::unique_ptr<RecordedSequence>> {
        FELSITE_TRY(auto recording,
                    with_eviction(*engine, [&]() -> Result<std::shared_ptr<Recording>> {
                      FELSITE_TRY(auto sequence, make_sequence(*engine, submission, config));
                      return engine->record(std::move(sequence));
                    }));
        return std::make_unique<VulkanRecording>(link(), engine, std::move(recording), submission,
                                                 config);
      });
}

Result<StaticUploads> VulkanBackend::acquire_static_uploads(std::string_view domain,
                                                            std::span<const ByteSpan> payloads) {
  return call("acquire_static_uploads", [&](const std::shared_ptr<Engine>&) {
    return static_uploads_.acquire(domain, payloads);
  });
}

Result<void> VulkanBackend::release_static_uploads(const StaticUploads& uploads) {
  return call("release_static_uploads",
              [&](const std::shared_ptr<Engine>&) { return static_uploads_.release(uploads); });
}

}  // namespace felsite::vk
