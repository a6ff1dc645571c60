// The resident calls of the Vulkan backend: memory, submissions, recordings.
#include <algorithm>

#include "dispatch/counters.h"
#include "dispatch/resident_checks.h"
#include "vk/grid_sequence.h"
#include "vk/resident_sequence.h"
#include "vk/vulkan_backend.h"

namespace felsite::vk {
namespace {

Result<void> check_timeout(Engine& engine, const SubmissionConfig& config) {
  if (!config.timeout || config.timeout->count() > 0) return {};
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
    if (auto done = recording.read(i, outputs[i]); !done) return done;
  }
  return {};
}

// Submits, waits, reads. The recording is gone from `recording` if it cannot run again.
Result<DispatchTiming> run(Engine& engine, std::shared_ptr<Recording>& recording,
                           std::span<const ByteSpan> uploads, std::vector<Bytes>& outputs,
                           const SubmissionConfig& config) {
  auto running = engine.start(std::move(recording), uploads);
  if (!running) return std::unexpected(std::move(running.error()));
  auto timing = engine.finish(*running, config.timeout.value_or(kNoTimeout));
  recording = std::move(running->recording);
  if (!timing) return timing;
  if (auto read = read_all(*recording, outputs); !read) {
    return std::unexpected(std::move(read.error()));
  }
  timing->passes_run = recording->sequence().repeated.empty() ? 1 : recording->block_runs();
  return timing;
}

// How many passes there were; and the flag's buffer gets what the last of them left.
Result<void> tell_passes(Engine& engine, const Recording& recording, DispatchTiming& timing) {
  const auto passes = passes_of(recording);
  if (!passes) return std::unexpected(passes.error());
  timing.passes_run = passes->passes;
  timing.converged = passes->converged;
  const Sequence& sequence = recording.sequence();
  timing.step_device_ns = segment_times(sequence, timing.step_device_ns);
  if (!sequence.flag) return {};
  if (sequence.passes->flag) {
    const auto words = recording.read_words(*sequence.passes->flag);
    if (!words) return std::unexpected(words.error());
    const auto bytes = std::as_bytes(std::span(*words)).first(sequence.flag->bytes);
    const UploadRange upload{*sequence.flag, bytes};
    return engine.transfers().upload({&upload, 1});
  }
  if (sequence.passes->bound > 1) return {};
  // One pass that is not repeated has not been asked whether it changed something.
  Bytes flag(sequence.flag->bytes);
  const DownloadRange download{*sequence.flag, flag};
  if (auto read = engine.transfers().download({&download, 1}); !read) return read;
  timing.converged = std::ranges::all_of(flag, [](std::byte b) { return b == std::byte{0}; });
  return {};
}

class VulkanRecording final : public RecordedSequence {
 public:
  VulkanRecording(const VulkanBackend& backend, std::shared_ptr<Engine> engine,
                  std::shared_ptr<Recording> recording, const ResidentSubmission& submission,
                  SubmissionConfig config)
      : backend_(backend),
        engine_(std::move(engine)),
        recording_(std::move(recording)),
        config_(std::move(config)),
        uploads_(submission.uploads.begin(), submission.uploads.end()) {
    for (const ResidentUpload& upload : uploads_) recorded_bytes_.push_back(upload.bytes);
    note_handles(submission);
  }

  Result<DispatchTiming> run_into(std::vector<Bytes>& outputs,
                                  std::span<const ByteSpan> uploads) override {
    return backend_.call("run recording", [&](const std::shared_ptr<Engine>& now) {
      return run_on(now, outputs, uploads);
    });
  }

 private:
  void note_handles(const ResidentSubmission& submission) {
    for (const ResidentFill& fill : submission.fills) handles_.push_back(fill.buffer);
    for (const ResidentUpload& upload : submission.uploads) handles_.push_back(upload.buffer);
    for (const ResidentRange& read : submission.reads) handles_.push_back(read.buffer);
    for (const auto& steps : {submission.prefix, submission.repeated}) {
      for (const ResidentStep& step : steps) {
        handles_.insert(handles_.end(), step.resources.begin(), step.resources.end());
      }
    }
    const auto by_slot = [](const ResidentHandle& a, const ResidentHandle& b) {
      return std::pair(a.slot, a.generation) < std::pair(b.slot, b.generation);
    };
    std::ranges::sort(handles_, by_slot);
    handles_.erase(std::unique(handles_.begin(), handles_.end()), handles_.end());
  }

  // Handles can only have become invalid where something was freed since the last look.
  Result<void> check_handles(Engine& now) {
    if (&now != engine_.get()) {
      recording_.reset();
      return std::unexpected(Error{.code = ErrorCode::InvalidHandle,
                                   .message = "The recording was made on a device that was lost.",
                                   .fix = "record the sequence again.",
                                   .context = {}});
    }
    const std::uint64_t removals = now.buffers().removals();
    if (removals == removals_seen_) return {};
    for (const ResidentHandle& handle : handles_) {
      if (auto alive = now.buffers().find(handle); !alive) {
        recording_.reset();  // the memory of what was freed goes at last
        return std::unexpected(std::move(alive.error()));
      }
    }
    removals_seen_ = removals;
    return {};
  }

  Result<DispatchTiming> run_on(const std::shared_ptr<Engine>& now, std::vector<Bytes>& outputs,
                                std::span<const ByteSpan> uploads) {
    const std::lock_guard lock(mutex_);
    if (auto alive = check_handles(*now); !alive) {
      return std::unexpected(std::move(alive.error()));
    }
    if (recording_ == nullptr) {
      return std::unexpected(Error{.code = ErrorCode::DispatchFailed,
                                   .message = "An earlier run of the recording did not end well.",
                                   .fix = "record the sequence again.",
                                   .context = {}});
    }
    if (auto time = check_timeout(*now, config_); !time) {
      return std::unexpected(std::move(time.error()));
    }
    if (!uploads.empty()) {
      if (auto fits = dispatch::check_fresh_uploads(uploads_, uploads); !fits) {
        return std::unexpected(std::move(fits.error()));
      }
    }
    return run(*now, recording_, uploads.empty() ? recorded_bytes_ : uploads, outputs, config_);
  }

  const VulkanBackend& backend_;
  const std::shared_ptr<Engine> engine_;
  std::mutex mutex_;
  std::shared_ptr<Recording> recording_;
  const SubmissionConfig config_;
  const std::vector<ResidentUpload> uploads_;
  std::vector<ByteSpan> recorded_bytes_;
  std::vector<ResidentHandle> handles_;
  std::uint64_t removals_seen_ = UINT64_MAX;
};

}  // namespace

Result<std::vector<ResidentHandle>> VulkanBackend::allocate_resident_many(
    std::span<const std::uint64_t> sizes) {
  const auto allocate = [&](Engine& engine) -> Result<std::vector<ResidentHandle>> {
    std::vector<SharedBuffer> buffers;
    for (const std::uint64_t size : sizes) {
      auto buffer = engine.memory().make(Place::Device, size, "resident");
      if (!buffer) return std::unexpected(std::move(buffer.error()));
      buffers.push_back(std::move(*buffer));
    }
    std::vector<ResidentHandle> handles;
    for (SharedBuffer& buffer : buffers) handles.push_back(engine.buffers().add(std::move(buffer)));
    return handles;
  };
  return call("allocate_resident", [&](const std::shared_ptr<Engine>& engine) {
    auto handles = allocate(*engine);
    if (!handles && handles.error().code == ErrorCode::DeviceOutOfMemory) {
      // What is only kept to be fast makes room.
      engine->recordings().clear();
      static_uploads_.free_unused();
      handles = allocate(*engine);
    }
    return handles;
  });
}

// As any backend does, but debuggers know the buffer by its label.
Result<DeviceBuffer> VulkanBackend::allocate_device_buffer(std::uint64_t bytes, std::string label) {
  auto made = Backend::allocate_device_buffer(bytes, std::move(label));
  if (!made) return made;
  const auto engine = current();
  if (engine == nullptr) return made;
  if (const auto buffer = engine->buffers().find(made->resident)) {
    (*buffer)->name(made->label);
  }
  return made;
}

Result<std::uint64_t> VulkanBackend::resident_size(ResidentHandle handle) const {
  return call("resident_size", [&](const std::shared_ptr<Engine>& engine) -> Result<std::uint64_t> {
    const auto buffer = engine->buffers().find(handle);
    if (!buffer) return std::unexpected(buffer.error());
    return (*buffer)->bytes();
  });
}

Result<void> VulkanBackend::upload_resident_at_many(std::span<const ResidentUpload> uploads) {
  return call("upload_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<void> {
    const auto ranges = resolve_uploads(*engine, uploads);
    if (!ranges) return std::unexpected(ranges.error());
    return engine->transfers().upload(*ranges);
  });
}

Result<void> VulkanBackend::download_resident_ranges_into(std::span<const ResidentRange> ranges,
                                                          std::vector<Bytes>& outputs) {
  return call("download_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<void> {
    const auto slices = resolve_reads(*engine, ranges);
    if (!slices) return std::unexpected(slices.error());
    std::vector<std::uint64_t> sizes;
    for (const BufferSlice& slice : *slices) sizes.push_back(slice.bytes);
    dispatch::count_slots(outputs, sizes);
    outputs.resize(slices->size());
    std::vector<DownloadRange> downloads;
    for (std::size_t i = 0; i < slices->size(); ++i) {
      outputs[i].resize((*slices)[i].bytes);
      downloads.push_back({(*slices)[i], outputs[i]});
    }
    return engine->transfers().download(downloads);
  });
}

Result<void> VulkanBackend::free_resident(ResidentHandle handle) {
  return call("free_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<void> {
    const auto buffer = engine->buffers().remove(handle);
    if (!buffer) return std::unexpected(buffer.error());
    engine->recordings().drop_users(buffer->get());
    return {};
  });
}

Result<DispatchTiming> VulkanBackend::submit_resident(const ResidentSubmission& submission,
                                                      std::vector<Bytes>& outputs,
                                                      const SubmissionConfig& config) {
  return call(
      "submit_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<DispatchTiming> {
        const ir::Fingerprint key = key_of(submission, config.profile || dispatch::tracing());
        const std::uint64_t removals = engine->buffers().removals();
        std::shared_ptr<Recording> recording = engine->recordings().take(key);
        std::optional<Sequence> fresh;
        if (recording == nullptr) {
          auto sequence = make_sequence(*engine, submission, config);
          if (!sequence) return std::unexpected(std::move(sequence.error()));
          fresh = std::move(*sequence);
        }
        // After what is wrong with the submission itself, and before anything is recorded.
        if (auto time = check_timeout(*engine, config); !time) {
          if (recording != nullptr) engine->recordings().give_back(key, std::move(recording), 0);
          return std::unexpected(std::move(time.error()));
        }
        if (fresh) {
          auto recorded = engine->record(std::move(*fresh));
          if (!recorded) return std::unexpected(std::move(recorded.error()));
          recording = std::move(*recorded);
        }
        std::vector<ByteSpan> uploads;
        for (const ResidentUpload& upload : submission.uploads) uploads.push_back(upload.bytes);
        auto timing = run(*engine, recording, uploads, outputs, config);
        // One of its buffers may have been freed meanwhile: then it must not keep the memory.
        if (recording != nullptr && removals == engine->buffers().removals()) {
          engine->recordings().give_back(key, std::move(recording), 0);
        }
        return timing;
      });
}

Result<DispatchTiming> VulkanBackend::dispatch_resident_passes(
    const ir::Program& program, std::span<const ResidentHandle> resources,
    const DispatchConfig& config) {
  auto timing = call(
      "dispatch_resident", [&](const std::shared_ptr<Engine>& engine) -> Result<DispatchTiming> {
        const ResidentStep step{.program = program,
                                .resources = {resources.begin(), resources.end()},
                                .grid_override = config.grid_override,
                                .workgroup_override = config.workgroup_override,
                                .label = config.label};
        const SubmissionConfig how{
            .timeout = config.timeout, .profile = config.profile, .label = config.label};
        const ir::Fingerprint key = key_of(step, config, config.profile || dispatch::tracing());
        const std::uint64_t removals = engine->buffers().removals();
        std::shared_ptr<Recording> recording = engine->recordings().take(key);
        if (recording == nullptr) {
          auto sequence = make_grid_sequence(*engine, step, config);
          if (!sequence) return std::unexpected(std::move(sequence.error()));
          if (auto time = check_timeout(*engine, how); !time) {
            return std::unexpected(std::move(time.error()));
          }
          auto recorded = engine->record(std::move(*sequence));
          if (!recorded) return std::unexpected(std::move(recorded.error()));
          recording = std::move(*recorded);
        }
        std::vector<Bytes> nothing;
        auto ran = run(*engine, recording, {}, nothing, how);
        if (ran) {
          if (auto told = tell_passes(*engine, *recording, *ran); !told) {
            return std::unexpected(std::move(told.error()));
          }
        }
        if (recording != nullptr && removals == engine->buffers().removals()) {
          engine->recordings().give_back(key, std::move(recording), 0);
        }
        return ran;
      });
  if (!timing) timing.error().context.program = program.name();
  return timing;
}

Result<std::unique_ptr<RecordedSequence>> VulkanBackend::record_resident(
    const ResidentSubmission& submission, const SubmissionConfig& config) {
  return call(
      "record_resident",
      [&](const std::shared_ptr<Engine>& engine) -> Result<std::unique_ptr<RecordedSequence>> {
        auto sequence = make_sequence(*engine, submission, config);
        if (!sequence) return std::unexpected(std::move(sequence.error()));
        auto recording = engine->record(std::move(*sequence));
        if (!recording) return std::unexpected(std::move(recording.error()));
        return std::make_unique<VulkanRecording>(*this, engine, std::move(*recording), submission,
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
