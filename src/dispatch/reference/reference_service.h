// The reference backend: the interpreter below the facade of all backends.
#pragma once

#include <atomic>
#include <mutex>

#include "dispatch/contract/service.h"
#include "dispatch/reference/reference_memory.h"
#include "dispatch/reference/reference_programs.h"
#include "felsite/reference.h"

namespace felsite::dispatch {

class ReferenceService final : public Service {
 public:
  explicit ReferenceService(const ReferenceOptions& options);

  const DeviceProfile& profile() const override { return profile_; }
  std::string feature_key() const override;
  bool runs_in_wait() const override { return true; }
  bool keeps_grid(const ir::ValidProgram& program, const Extent3& grid) const override;
  std::uint64_t memory_left() const override { return memory_->limit - memory_->taken; }
  std::uint64_t host_memory_limit() const override { return memory_->limit; }

  Result<SharedAllocation> allocate(std::uint64_t bytes, std::string_view owner,
                                    std::string_view label) override;
  std::optional<MemoryRange> borrow(ByteSpan bytes, std::string_view owner,
                                    std::string_view label) override;
  Result<void> write(std::span<const WriteRange> writes) override;
  Result<void> read(std::span<const ReadRange> reads) override;
  Result<SharedCompiledKernel> compile(const codegen::Segment& segment) override;
  Result<std::shared_ptr<Recorded>> record(Submission submission) override;
  Result<std::unique_ptr<Run>> start(const std::shared_ptr<Recorded>& recorded,
                                     std::span<const ByteSpan> uploads,
                                     std::chrono::nanoseconds timeout) override;

  PipelineCacheSnapshot pipeline_cache() const override { return programs_.snapshot(); }
  void report(MetricSnapshot& figures) const override;
  OutOfBoundsCounts out_of_bounds() const;

  // Work on resident memory runs one after the other, as on one queue of a device.
  std::mutex& queue() { return queue_; }
  // The steps of a submission.
  Result<DispatchTiming> run(const Submission& submission, const base::Deadline& deadline,
                             const base::StopFlag* stop);

 private:
  Result<void> check_options() const;

  const ReferenceOptions options_;
  const std::shared_ptr<MemoryLimit> memory_;
  const DeviceProfile profile_;
  PreparedPrograms programs_;
  std::mutex queue_;
  mutable std::mutex mutex_;
  reference::OutOfBounds out_of_bounds_;
  const std::shared_ptr<std::atomic<std::uint64_t>> in_flight_ =
      std::make_shared<std::atomic<std::uint64_t>>(0);
};

}  // namespace felsite::dispatch
