#include "vk/host_buffer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "vk/vulkan_error.h"

namespace felsite::vk {
namespace {

// A multiple of four, so that narrow elements can be accessed by whole words. An empty buffer has
// room for one element, as no range may be empty.
std::uint64_t bound_range(std::uint64_t bytes) { return bytes == 0 ? 8 : (bytes + 3) / 4 * 4; }

}  // namespace

Result<HostBuffer> HostBuffer::make(const Device& device, std::uint64_t bytes) {
  const std::uint64_t range = bound_range(bytes);
  const std::uint64_t longest = device.snapshot().limits.storage_buffer_range;
  if (range > longest) {
    return std::unexpected(over_limit(
        fmt::format("A buffer takes {} bytes; the device binds at most {}.", range, longest),
        "split the data over several buffers, or choose another device.", device.snapshot().name,
        range, longest));
  }
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = range;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
  VmaAllocationCreateInfo placement{};
  placement.usage = VMA_MEMORY_USAGE_AUTO;
  placement.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
  HostBuffer buffer(device);
  VmaAllocationInfo placed{};
  const VkResult result = vmaCreateBuffer(device.allocator(), &info, &placement, &buffer.buffer_,
                                          &buffer.allocation_, &placed);
  if (result != VK_SUCCESS) {
    buffer.buffer_ = VK_NULL_HANDLE;
    buffer.allocation_ = VK_NULL_HANDLE;
    Error error = device.error(result, fmt::format("allocate a buffer of {} bytes", range));
    error.context.requested = range;
    return std::unexpected(std::move(error));
  }
  buffer.mapped_ = {static_cast<std::byte*>(placed.pMappedData), range};
  return buffer;
}

HostBuffer::HostBuffer(HostBuffer&& other) noexcept
    : device_(other.device_),
      buffer_(std::exchange(other.buffer_, VK_NULL_HANDLE)),
      allocation_(std::exchange(other.allocation_, VK_NULL_HANDLE)),
      mapped_(std::exchange(other.mapped_, {})) {}

HostBuffer::~HostBuffer() {
  if (buffer_ != VK_NULL_HANDLE) vmaDestroyBuffer(device_.allocator(), buffer_, allocation_);
}

Result<void> HostBuffer::write(std::span<const std::byte> contents) {
  const auto rest = std::copy(contents.begin(), contents.end(), mapped_.begin());
  std::fill(rest, mapped_.end(), std::byte{0});
  const VkResult result = vmaFlushAllocation(device_.allocator(), allocation_, 0, VK_WHOLE_SIZE);
  if (result != VK_SUCCESS) return std::unexpected(device_.error(result, "write a buffer"));
  return {};
}

Result<void> HostBuffer::read(std::span<std::byte> contents) const {
  const VkResult result =
      vmaInvalidateAllocation(device_.allocator(), allocation_, 0, VK_WHOLE_SIZE);
  if (result != VK_SUCCESS) return std::unexpected(device_.error(result, "read a buffer"));
  std::copy_n(mapped_.begin(), contents.size(), contents.begin());
  return {};
}

}  // namespace felsite::vk
