// The backend `vulkan`: the whole backend contract on a Vulkan device.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/backend_link.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/contract/dispatch_thread.h"
#include "dispatch/contract/host_split.h"
#include "dispatch/contract/static_uploads.h"
#include "dispatch/telemetry/trace.h"
#include "felsite/backend.h"
#include "vk/record/engine.h"

namespace felsite::vk {

// Opens the device: at the beginning, and again for each recovery.
using OpenDevice = std::function<Result<std::unique_ptr<Device>>()>;

struct BackendSettings {
  OpenDevice open;
  std::optional<std::filesystem::path> cache_folder;
  std::uint64_t static_budget = std::uint64_t{256} << 20;
  // How long closing the device waits for work in flight.
  std::chrono::nanoseconds grace = std::chrono::seconds(5);
  std::shared_ptr<MemoryBudget> budget{};  // instead of the one that Memory chooses
};

class VulkanBackend final : public Backend {
 public:
  static Result<std::unique_ptr<VulkanBackend>> make(BackendSettings settings);
  ~VulkanBackend() override;

  std::string_view id() const override { return "vulkan"; }
  std::string_view version() const override;
  std::vector<std::string> supported_ops() const override;
  DeviceProfile device_profile() const override;
  std::string device_feature_cache_key() const override;

  Result<DispatchTiming> dispatch_borrowed_into(const ir::Program& program,
                                                std::span<const ByteSpan> inputs,
                                                std::vector<Bytes>& outputs,
                                                const DispatchConfig& config) override;
  Result<std::unique_ptr<CompiledPipeline>> compile(const ir::Program& program,
                                                    const DispatchConfig& config) override;
  Result<std::unique_ptr<PendingDispatch>> dispatch_borrowed_async(
      const ir::Program& program, std::span<const ByteSpan> inputs,
      const DispatchConfig& config) override;

  Result<std::vector<ResidentHandle>> allocate_resident_many(
      std::span<const std::uint64_t> sizes) override;
  Result<std::uint64_t> resident_size(ResidentHandle buffer) const override;
  Result<void> upload_resident_at_many(std::span<const ResidentUpload> uploads) override;
  Result<void> download_resident_ranges_into(std::span<const ResidentRange> ranges,
                                             std::vector<Bytes>& outputs) override;
  Result<void> free_resident(ResidentHandle buffer) override;
  Result<DispatchTiming> submit_resident(const ResidentSubmission& submission,
                                         std::vector<Bytes>& outputs,
                                         const SubmissionConfig& config) override;
  Result<std::unique_ptr<RecordedSequence>> record_resident(
      const ResidentSubmission& submission, const SubmissionConfig& config) override;
  Result<StaticUploads> acquire_static_uploads(std::string_view domain,
                                               std::span<const ByteSpan> payloads) override;
  Result<void> release_static_uploads(const StaticUploads& uploads) override;
  Result<DeviceBuffer> allocate_device_buffer(std::uint64_t bytes, std::string label) override;

  using Backend::prepare;
  Result<void> prepare(const ir::Program& program, const DispatchConfig& config) override;
  Result<void> prepare() override;
  Result<void> flush() override;
  Result<void> shutdown() override;
  bool device_lost() const override;
  Result<void> try_recover() override;

  PipelineCacheSnapshot pipeline_cache_snapshot() const override;
  MetricSnapshot metric_snapshot() const override;

  Result<DispatchTiming> dispatch_resident_iterations(const ir::Program& program,
                                                      std::span<const ResidentResource> resources,
                                                      const DispatchConfig& config) override;
  Result<void> check_resident_config(const ir::Program& program,
                                     const DispatchConfig& config) const override;

  // The current engine; DeviceLost if the device is lost, DispatchFailed after the shutdown.
  Result<std::shared_ptr<Engine>> engine() const;

  // Every public call goes through it: nothing runs after a shutdown, nothing throws, and every
  // error names the device.
  template <class Work>
  auto call(std::string_view name, Work work) const
      -> decltype(work(std::declval<std::shared_ptr<Engine>&>())) {
    using Outcome = decltype(work(std::declval<std::shared_ptr<Engine>&>()));
    return base::guarded([&]() -> Outcome {
      const dispatch::HostSlice slice(name);
      auto ticket = gate_->enter();
      if (!ticket) return std::unexpected(on_last_device(std::move(ticket.error())));
      FELSITE_TRY(auto open, engine());
      Outcome result = base::guarded([&] { return work(open); });
      if (!result) return std::unexpected(open->noted(std::move(result.error())));
      return result;
    });
  }

  // For objects that the backend makes and that call it later.
  dispatch::BackendLink<VulkanBackend> link();

  // Calls `make` again after an eviction of all caches if the device is out of memory.
  template <class Make>
  auto with_eviction(Engine& engine, Make make) -> decltype(make()) {
    auto made = make();
    if (made || made.error().code != ErrorCode::DeviceOutOfMemory) return made;
    engine.recordings().clear();
    static_uploads_.free_unused();
    return make();
  }

 private:
  explicit VulkanBackend(BackendSettings settings);
  template <class MakeSequence>
  Result<std::shared_ptr<Recording>> take_or_record(
      Engine& engine, const ir::Fingerprint& key,
      const std::optional<std::chrono::nanoseconds>& timeout, MakeSequence make);
  // One plain dispatch, within a call. It is abandoned soon after `stop` is raised.
  Result<DispatchTiming> run_once(const std::shared_ptr<Engine>& engine,
                                  const ir::ValidProgram& program, std::span<const ByteSpan> inputs,
                                  std::vector<Bytes>& outputs, const DispatchConfig& config,
                                  const base::StopFlag* stop);
  dispatch::SegmentRunner split_runner(std::shared_ptr<Engine> engine, const base::StopFlag* stop);
  Result<std::unique_ptr<PendingDispatch>> start_host_split(const std::shared_ptr<Engine>& engine,
                                                            const ir::ValidProgram& program,
                                                            std::span<const ByteSpan> inputs,
                                                            const DispatchConfig& config);
  std::shared_ptr<Engine> current() const;
  Error on_last_device(Error error) const;
  Result<std::shared_ptr<Engine>> open_engine() const;

  const BackendSettings settings_;
  // Shared with all objects that the backend made, which may outlive it.
  const std::shared_ptr<dispatch::CallGate> gate_ = std::make_shared<dispatch::CallGate>();
  mutable std::mutex mutex_;  // guards the next three
  std::shared_ptr<Engine> engine_;
  DeviceProfile profile_;
  std::string feature_key_;
  std::mutex recovery_mutex_;
  std::atomic<std::uint64_t> recoveries_ = 0;
  dispatch::StaticUploadCache static_uploads_;
};

}  // namespace felsite::vk
