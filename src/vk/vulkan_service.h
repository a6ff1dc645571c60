// A Vulkan device as the facade of all backends takes it.
#pragma once

#include <filesystem>
#include <optional>

#include "dispatch/contract/service.h"
#include "vk/record/engine.h"

namespace felsite::vk {

class VulkanService final : public dispatch::Service {
 public:
  explicit VulkanService(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {}

  const std::shared_ptr<Engine>& engine() const { return engine_; }

  const DeviceProfile& profile() const override { return engine_->profile(); }
  std::string feature_key() const override;
  bool is_lost() const override { return engine_->is_lost(); }
  void note(const Error& error) override;
  Error lost_error() const override;
  Error timeout_error() const override;
  std::uint64_t idle_memory_limit() const override;

  Result<dispatch::SharedAllocation> allocate(std::uint64_t bytes, std::string_view owner,
                                              std::string_view label) override;
  std::optional<dispatch::MemoryRange> borrow(ByteSpan bytes, std::string_view owner,
                                              std::string_view label) override;
  Result<void> write(std::span<const dispatch::WriteRange> writes) override;
  Result<void> read(std::span<const dispatch::ReadRange> reads) override;

  Result<dispatch::SharedCompiledKernel> compile(const codegen::Segment& segment) override;
  std::unique_ptr<dispatch::KernelOwner> new_owner() override;
  void release(dispatch::KernelOwner& owner, const OnDropped& dropped) override;

  Result<std::shared_ptr<dispatch::Recorded>> record(dispatch::Submission submission) override;
  Result<std::unique_ptr<dispatch::Run>> start(const std::shared_ptr<dispatch::Recorded>& recorded,
                                               std::span<const ByteSpan> uploads,
                                               std::chrono::nanoseconds timeout) override;

  Result<void> wait_for_all() override { return engine_->wait_for_all(); }
  void wait_until_idle() noexcept override { engine_->wait_until_idle(); }
  void drain() override { static_cast<void>(engine_->drain()); }
  void save() override { engine_->pipelines().save(); }
  PipelineCacheSnapshot pipeline_cache() const override { return engine_->pipelines().snapshot(); }
  void report(MetricSnapshot& figures) const override { engine_->report(figures); }

 private:
  const std::shared_ptr<Engine> engine_;
};

}  // namespace felsite::vk
