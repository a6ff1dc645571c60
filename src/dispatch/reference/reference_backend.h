// The reference backend: the interpreter behind the whole backend contract.
#pragma once

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/contract/backend_link.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/contract/dispatch_thread.h"
#include "dispatch/contract/host_split.h"
#include "dispatch/contract/static_uploads.h"
#include "dispatch/reference/reference_memory.h"
#include "dispatch/reference/reference_programs.h"
#include "dispatch/telemetry/trace.h"
#include "felsite/reference.h"

namespace felsite::dispatch {

// Adds the context that every error of the backend has.
Error on_reference(Error error) noexcept;
Error on_reference(Error error, const ir::Program& program) noexcept;

// Counts one thing while it lives, even after the backend is gone.
class Counted {
 public:
  using Count = std::shared_ptr<std::atomic<std::uint64_t>>;
  explicit Counted(Count count) : count_(std::move(count)) { ++*count_; }
  Counted(Counted&& other) noexcept : count_(std::move(other.count_)) {}
  Counted& operator=(Counted&&) = delete;
  ~Counted() {
    if (count_ != nullptr) --*count_;
  }

 private:
  Count count_;
};

class Reference : public ReferenceBackend {
 public:
  explicit Reference(const ReferenceOptions& options);
  // Waits for the calls and dispatches in progress.
  ~Reference() override;

  std::string_view id() const override { return "reference"; }
  std::string_view version() const override;
  std::vector<std::string> supported_ops() const override;
  DeviceProfile device_profile() const override;
  std::string device_feature_cache_key() const override;

  using Backend::dispatch;
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

  using Backend::prepare;
  Result<void> prepare() override;
  Result<void> flush() override;
  Result<void> shutdown() override;
  bool device_lost() const override { return false; }
  Result<void> try_recover() override;

  PipelineCacheSnapshot pipeline_cache_snapshot() const override { return programs_.snapshot(); }
  MetricSnapshot metric_snapshot() const override;
  OutOfBoundsCounts out_of_bounds() const override;

  // For its pipelines and pending dispatches.
  Result<std::shared_ptr<const reference::Interpreter>> interpreter_for(
      const ir::Program& program, const DispatchConfig& config);
  enum class Slots : std::uint8_t { Callers, Own };  // only the caller's slots are counted
  Result<DispatchTiming> run(const reference::Interpreter& interpreter,
                             std::span<const ByteSpan> inputs, std::vector<Bytes>& outputs,
                             const DispatchConfig& config, Slots slots = Slots::Callers,
                             const base::StopFlag* stop = nullptr);
  // Every call goes through this: nothing runs after a shutdown, and nothing throws.
  template <class Work>
  auto call(std::string_view name, Work work) const -> decltype(work()) {
    const HostSlice slice(name);
    auto result = base::guarded([&]() -> decltype(work()) {
      FELSITE_TRY(auto ticket, gate_->enter());
      return work();
    });
    if (!result) return std::unexpected(on_reference(std::move(result.error())));
    return result;
  }

 private:
  // Of a program that is run by the host split: how; none for others.
  Result<std::optional<SegmentRunner>> split_runner(const ir::ValidProgram& program,
                                                    const DispatchConfig& config,
                                                    const base::StopFlag* stop);
  std::uint64_t memory_limit() const;
  Result<void> check_options() const;
  void add_out_of_bounds(const reference::OutOfBounds& more);

  const ReferenceOptions options_;
  BackendLink<Reference> link() { return {*this, gate_, "reference"}; }

  // Shared with everything that the backend made, and may outlive it.
  const std::shared_ptr<CallGate> gate_ = std::make_shared<CallGate>();
  PreparedPrograms programs_;
  HostMemory memory_;
  StaticUploadCache static_uploads_;
  // Submissions on resident buffers run one after the other, as on one queue of a device.
  std::mutex queue_;
  const Counted::Count in_flight_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::uint64_t> recordings_{0};
  const Counted::Count recordings_kept_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  mutable std::mutex mutex_;
  reference::OutOfBounds out_of_bounds_;
};

}  // namespace felsite::dispatch
