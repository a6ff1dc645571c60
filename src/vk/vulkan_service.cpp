#include "vk/vulkan_service.h"

#include <algorithm>

#include "base/try.h"
#include "vk/device/vulkan_profile.h"
#include "vk/schedule/make_sequence.h"
#include "vk/submitted_run.h"

namespace felsite::vk {
namespace {

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
  return RecordedSubmission::make(*engine_, std::move(submission));
}

Result<std::unique_ptr<dispatch::Run>> VulkanService::start(
    const std::shared_ptr<dispatch::Recorded>& recorded, std::span<const ByteSpan> uploads,
    std::chrono::nanoseconds timeout) {
  auto ours = std::static_pointer_cast<RecordedSubmission>(recorded);
  if (const Sequence& first = ours->first(); !first.is_alone) {
    for (const BufferSlice& target : first.uploads) {
      FELSITE_CHECK(wait_until_unused(*engine_, target, timeout));
    }
  }
  return SubmittedRun::start(engine_, std::move(ours), uploads);
}

}  // namespace felsite::vk
