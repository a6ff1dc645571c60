#include "vk/vulkan_service.h"

#include <algorithm>

#include "base/try.h"
#include "dispatch/telemetry/counters.h"
#include "vk/device/vulkan_profile.h"
#include "vk/schedule/make_sequence.h"
#include "vk/schedule/outcome.h"

namespace felsite::vk {
namespace {

class VulkanRecorded final : public dispatch::Recorded {
 public:
  VulkanRecorded(std::shared_ptr<Recording> made, std::optional<BufferSlice> flag_buffer)
      : recording(std::move(made)), flag(std::move(flag_buffer)) {}

  bool uses(const dispatch::Allocation& memory) const override {
    return recording != nullptr && recording->uses(static_cast<const Buffer*>(&memory));
  }
  bool uses(const dispatch::CompiledKernel& kernel) const override {
    return recording != nullptr && recording->uses(static_cast<const KernelOnDevice*>(&kernel));
  }
  std::uint64_t own_bytes() const override {
    return recording != nullptr ? recording->own_bytes() : 0;
  }
  std::vector<std::uint64_t> read_sizes() const override {
    std::vector<std::uint64_t> sizes;
    for (const BufferSlice& read : recording->sequence().reads) sizes.push_back(read.bytes);
    return sizes;
  }
  Result<void> read(std::size_t index, std::span<std::byte> bytes) const override {
    const BufferSlice& slice = recording->sequence().reads[index];
    if (!flag || !overlap(slice, *flag)) return recording->read(index, bytes);
    FELSITE_TRY(const auto words, flag_words());
    dispatch::count(Counter::DownloadBytes, bytes.size());
    std::ranges::copy(std::as_bytes(std::span(words)).first(bytes.size()), bytes.begin());
    return {};
  }
  // What the last iteration left in the flag.
  Result<std::vector<std::uint32_t>> flag_words() const {
    const Sequence& sequence = recording->sequence();
    return recording->read_words(slice_in(sequence.scheduled, *sequence.iterations->flag));
  }

  std::shared_ptr<Recording> recording;  // null while it runs, and after a run was given up
  // The caller's flag, if iterations worked on words of their own instead of it.
  const std::optional<BufferSlice> flag;
};

class VulkanRun final : public dispatch::Run {
 public:
  VulkanRun(std::shared_ptr<Engine> engine, std::shared_ptr<VulkanRecorded> recorded,
            Running running)
      : engine_(std::move(engine)), recorded_(std::move(recorded)), running_(std::move(running)) {}
  ~VulkanRun() override { engine_->abandon(std::move(running_)); }

  bool advance() override { return engine_->advance(running_); }

  Result<DispatchTiming> wait(std::chrono::nanoseconds timeout,
                              const base::StopFlag* stop) override {
    auto timing = engine_->finish(running_, timeout, stop);
    recorded_->recording = std::move(running_.recording);
    if (!timing) return timing;
    const Sequence& sequence = recorded_->recording->sequence();
    timing->step_device_ns = segment_times(sequence, timing->step_device_ns);
    if (!sequence.iterations) {
      timing->iterations_run = sequence.repeated.empty() ? 1 : recorded_->recording->block_runs();
      return timing;
    }
    FELSITE_TRY(const auto iterations, iterations_of(*recorded_->recording));
    timing->iterations_run = iterations.iterations;
    timing->converged = iterations.converged;
    if (recorded_->flag && !sequence.is_alone) FELSITE_CHECK(write_flag());
    return timing;
  }
  bool was_given_up() const override { return recorded_->recording == nullptr; }

 private:
  Result<void> write_flag() {
    FELSITE_TRY(const auto words, recorded_->flag_words());
    const UploadRange upload{*recorded_->flag,
                             std::as_bytes(std::span(words)).first(recorded_->flag->bytes)};
    return engine_->transfers().upload({&upload, 1});
  }

  const std::shared_ptr<Engine> engine_;
  const std::shared_ptr<VulkanRecorded> recorded_;
  Running running_;
};

// Before the host accesses a buffer in place.
Result<void> wait_until_unused(Engine& engine, const BufferSlice& slice,
                               std::chrono::nanoseconds timeout) {
  if (!slice.buffer->is_mapped()) return {};
  return engine.wait_until_unused(*slice.buffer, timeout);
}

}  // namespace

std::string VulkanService::feature_key() const { return feature_key_of(engine_->device()); }

void VulkanService::note(const Error& error) {
  if (error.code == ErrorCode::DeviceLost) engine_->note_lost();
}

Error VulkanService::lost_error() const {
  Error error = Service::lost_error();
  error.context.vk_result = VK_ERROR_DEVICE_LOST;
  return error;
}

Error VulkanService::timeout_error() const {
  return engine_->device().error(VK_TIMEOUT, "finish the work in no time");
}

// A part of the largest heap.
std::uint64_t VulkanService::idle_memory_limit() const {
  constexpr std::uint64_t kMax = std::uint64_t{512} << 20;
  std::uint64_t heap = 0;
  for (const MemoryHeap& other : engine_->device().snapshot().memory_heaps) {
    if ((other.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) heap = std::max(heap, other.bytes);
  }
  return std::min(heap / 4, kMax);
}

Result<dispatch::SharedAllocation> VulkanService::allocate(std::uint64_t bytes,
                                                           std::string_view owner,
                                                           std::string_view label) {
  return engine_->memory().make(Place::Device, bytes, {owner, label});
}

std::optional<dispatch::MemoryRange> VulkanService::borrow(ByteSpan bytes, std::string_view owner,
                                                           std::string_view label) {
  auto imported = engine_->memory().import(bytes, {owner, label});
  if (!imported) return std::nullopt;
  return dispatch::MemoryRange{std::move(imported->buffer), imported->offset, bytes.size()};
}

Result<void> VulkanService::write(std::span<const dispatch::WriteRange> writes) {
  std::vector<UploadRange> uploads;
  for (const auto& [target, bytes] : writes) {
    uploads.push_back({slice_of(target), bytes});
    FELSITE_CHECK(wait_until_unused(*engine_, uploads.back().target, kNoTimeout));
  }
  return engine_->transfers().upload(uploads);
}

Result<void> VulkanService::read(std::span<const dispatch::ReadRange> reads) {
  std::vector<DownloadRange> downloads;
  for (const auto& [source, bytes] : reads) {
    downloads.push_back({slice_of(source), bytes});
    FELSITE_CHECK(wait_until_unused(*engine_, downloads.back().source, kNoTimeout));
  }
  return engine_->transfers().download(downloads);
}

Result<dispatch::SharedCompiledKernel> VulkanService::compile(const codegen::Segment& segment) {
  return engine_->pipelines().get(segment);
}

std::unique_ptr<dispatch::KernelOwner> VulkanService::new_owner() {
  return std::make_unique<KernelUse>();
}

void VulkanService::release(dispatch::KernelOwner& owner, const OnDropped& dropped) {
  for (const auto& entry : engine_->pipelines().release(static_cast<KernelUse&>(owner))) {
    dropped(*entry.value.kernel);
  }
}

Result<std::shared_ptr<dispatch::Recorded>> VulkanService::record(dispatch::Submission submission) {
  FELSITE_TRY(auto sequence, make_sequence(*engine_, submission));
  std::optional<BufferSlice> flag;
  if (sequence.iterations && sequence.iterations->flag) {
    flag = slice_in(sequence.scheduled, sequence.iterations->flag_buffer);
  }
  FELSITE_TRY(auto recording, engine_->record(std::move(sequence)));
  return std::make_shared<VulkanRecorded>(std::move(recording), std::move(flag));
}

Result<std::unique_ptr<dispatch::Run>> VulkanService::start(
    const std::shared_ptr<dispatch::Recorded>& recorded, std::span<const ByteSpan> uploads,
    std::chrono::nanoseconds timeout) {
  auto ours = std::static_pointer_cast<VulkanRecorded>(recorded);
  if (!ours->recording->sequence().is_alone) {
    for (const BufferSlice& target : ours->recording->sequence().uploads) {
      FELSITE_CHECK(wait_until_unused(*engine_, target, timeout));
    }
  }
  FELSITE_TRY(auto running, engine_->start(std::move(ours->recording), uploads));
  return std::make_unique<VulkanRun>(engine_, std::move(ours), std::move(running));
}

}  // namespace felsite::vk
