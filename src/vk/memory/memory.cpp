#include "vk/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "vk/instance/vulkan_error.h"
#include "vk/plan/memory_strategy.h"

namespace felsite::vk {
namespace {

constexpr VkBufferUsageFlags kUsage =
    VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
    VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;

// A multiple of four, so that narrow elements can be accessed by whole words. An empty buffer gets
// one element, as no range may be empty.
std::uint64_t padded(std::uint64_t bytes) { return bytes == 0 ? 8 : (bytes + 3) / 4 * 4; }

VmaAllocationCreateInfo placement(Place place, const MemoryStrategy& strategy) {
  VmaAllocationCreateInfo info{};
  info.usage = VMA_MEMORY_USAGE_AUTO;
  switch (place) {
    case Place::Device:
      info.usage = VMA_MEMORY_USAGE_AUTO_PREFER_DEVICE;
      if (strategy.writes_in_place) {
        info.flags = strategy.reads_in_place
                         ? VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT
                         : VMA_ALLOCATION_CREATE_HOST_ACCESS_SEQUENTIAL_WRITE_BIT;
        info.flags |= VMA_ALLOCATION_CREATE_MAPPED_BIT;
      }
      break;
    case Place::Upload:
      info.usage = VMA_MEMORY_USAGE_AUTO_PREFER_HOST;
      info.flags =
          VMA_ALLOCATION_CREATE_HOST_ACCESS_SEQUENTIAL_WRITE_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
      break;
    case Place::Readback:
    case Place::Control:
      info.usage = VMA_MEMORY_USAGE_AUTO_PREFER_HOST;
      info.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
      break;
  }
  return info;
}

// Conditions and indirect grids are in buffers that kernels write.
VkBufferUsageFlags usage(Place place, const Device& device) {
  const bool has_conditions = (place == Place::Device || place == Place::Control) &&
                              device.has(RuntimeFeature::ConditionalRendering);
  return has_conditions ? kUsage | VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT : kUsage;
}

VkBufferCreateInfo buffer_info(const Device& device, std::uint64_t range) {
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = range;
  info.usage = kUsage;
  const auto families = device.queue_families();
  if (families.size() > 1) {
    // Copies and kernels run on queues of different families; sharing avoids ownership transfers.
    info.sharingMode = VK_SHARING_MODE_CONCURRENT;
    info.queueFamilyIndexCount = static_cast<std::uint32_t>(families.size());
    info.pQueueFamilyIndices = families.data();
  }
  return info;
}

std::uint64_t bytes_left(const Device& device) {
  std::array<VmaBudget, VK_MAX_MEMORY_HEAPS> budgets{};
  vmaGetHeapBudgets(device.allocator(), budgets.data());
  std::uint64_t most = 0;
  for (const VmaBudget& budget : budgets) {
    if (budget.budget > budget.usage) most = std::max(most, budget.budget - budget.usage);
  }
  return most;
}

Error out_of_memory(const Device& device, VkResult result, std::uint64_t range) {
  Error error = device.error(result, fmt::format("allocate a buffer of {} bytes", range));
  error.context.requested = range;
  if (error.code == ErrorCode::DeviceOutOfMemory) error.context.available = bytes_left(device);
  return error;
}

// The same error, before the driver is asked.
Error over_budget(const Device& device, std::uint64_t range, std::uint64_t available) {
  Error error =
      vulkan_error(VK_ERROR_OUT_OF_DEVICE_MEMORY,
                   fmt::format("allocate a buffer of {} bytes", range), device.snapshot().name);
  error.context.requested = range;
  error.context.available = available;
  return error;
}

}  // namespace

Memory::Memory(const Device& device)
    : Memory(device, device.snapshot().type == VK_PHYSICAL_DEVICE_TYPE_CPU ? MemoryBudget::of_host()
                                                                           : nullptr) {}

Buffer::~Buffer() {
  if (is_callers_) return;
  if (is_imported_) {
    device_.functions().vkDestroyBuffer(device_.handle(), buffer_, nullptr);
    device_.functions().vkFreeMemory(device_.handle(), imported_, nullptr);
  } else if (buffer_ != VK_NULL_HANDLE) {
    vmaDestroyBuffer(device_.allocator(), buffer_, allocation_);
  }
  if (budget_ != nullptr) budget_->release(range_);
}

Result<void> Buffer::write(std::uint64_t offset, ByteSpan bytes) {
  if (bytes.empty()) return {};
  std::memcpy(mapped_ + offset, bytes.data(), bytes.size());
  const VkResult result =
      vmaFlushAllocation(device_.allocator(), allocation_, offset, bytes.size());
  if (result != VK_SUCCESS) return std::unexpected(device_.error(result, "write a buffer"));
  return {};
}

Result<void> Buffer::read(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (bytes.empty()) return {};
  const VkResult result =
      vmaInvalidateAllocation(device_.allocator(), allocation_, offset, bytes.size());
  if (result != VK_SUCCESS) return std::unexpected(device_.error(result, "read a buffer"));
  std::memcpy(bytes.data(), mapped_ + offset, bytes.size());
  return {};
}

void Buffer::name(const ObjectName& what) const {
  if (!device_.instance().names_objects()) return;
  device_.name(buffer_, what);
  if (allocation_ == VK_NULL_HANDLE) return;
  VmaAllocationInfo2 info{};
  vmaGetAllocationInfo2(device_.allocator(), allocation_, &info);
  if (info.dedicatedMemory != VK_FALSE) device_.name(info.allocationInfo.deviceMemory, what);
}

Result<SharedBuffer> Memory::make(Place place, std::uint64_t bytes, const ObjectName& name) {
  const std::uint64_t longest = device_.snapshot().limits.allocation_bytes;
  if (bytes > longest) return std::unexpected(over_budget(device_, bytes, longest));
  SharedBuffer buffer(new Buffer(device_));
  buffer->bytes_ = bytes;
  buffer->range_ = padded(bytes);
  if (budget_ != nullptr) {
    if (const auto taken = budget_->take(buffer->range_); !taken) {
      return std::unexpected(over_budget(device_, buffer->range_, taken.error()));
    }
    buffer->budget_ = budget_;
  }
  VkBufferCreateInfo info = buffer_info(device_, buffer->range_);
  info.usage = usage(place, device_);
  VmaAllocationCreateInfo where = placement(place, device_.plan().memory);
  if (budget_ == nullptr) {
    where.flags |= VMA_ALLOCATION_CREATE_WITHIN_BUDGET_BIT;
    // Half of the allocator's block size. It would make a dedicated block for more anyway, but
    // checks the budget for that only if told to.
    constexpr std::uint64_t kLarge = std::uint64_t{16} << 20;
    if (buffer->range_ > kLarge) where.flags |= VMA_ALLOCATION_CREATE_DEDICATED_MEMORY_BIT;
  }
  VmaAllocationInfo placed{};
  ++allocations_;
  const VkResult result = vmaCreateBuffer(device_.allocator(), &info, &where, &buffer->buffer_,
                                          &buffer->allocation_, &placed);
  if (result != VK_SUCCESS) {
    buffer->buffer_ = VK_NULL_HANDLE;
    return std::unexpected(out_of_memory(device_, result, buffer->range_));
  }
  buffer->mapped_ = static_cast<std::byte*>(placed.pMappedData);
  buffer->name(name);
  return buffer;
}

std::optional<Memory::Imported> Memory::import(ByteSpan bytes, const ObjectName& name) {
  if (!device_.has(RuntimeFeature::ExternalHostMemory)) return {};
  if (bytes.size() < kMinImportedBytes) return {};
  const SnapshotLimits& limits = device_.snapshot().limits;
  const std::uint64_t page = limits.host_pointer_alignment;
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uint64_t offset = address % page;
  const std::uint64_t range = (offset + bytes.size() + page - 1) / page * page;
  const bool can_bind =
      offset % limits.storage_buffer_alignment == 0 && offset + padded(bytes.size()) <= range;
  if (!can_bind) return {};

  const DeviceFunctions& functions = device_.functions();
  constexpr auto kHostMemory = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;
  // Vulkan takes no const pointer, but only kernels that read are bound to it.
  void* const begin = const_cast<std::byte*>(bytes.data() - offset);
  SharedBuffer buffer(new Buffer(device_));
  buffer->bytes_ = bytes.size();
  buffer->range_ = range;
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = kHostMemory;
  VkBufferCreateInfo info = buffer_info(device_, range);
  info.pNext = &external;
  if (functions.vkCreateBuffer(device_.handle(), &info, nullptr, &buffer->buffer_) != VK_SUCCESS) {
    buffer->buffer_ = VK_NULL_HANDLE;
    return {};
  }
  buffer->is_imported_ = true;
  device_.name(buffer->buffer_, name);
  VkMemoryHostPointerPropertiesEXT pointer{};
  pointer.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  if (functions.vkGetMemoryHostPointerPropertiesEXT(device_.handle(), kHostMemory, begin,
                                                    &pointer) != VK_SUCCESS) {
    return {};
  }
  VkMemoryRequirements needed{};
  functions.vkGetBufferMemoryRequirements(device_.handle(), buffer->buffer_, &needed);
  const std::uint32_t types = needed.memoryTypeBits & pointer.memoryTypeBits;
  if (types == 0 || needed.size > range) return {};
  VkImportMemoryHostPointerInfoEXT import_info{};
  import_info.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  import_info.handleType = kHostMemory;
  import_info.pHostPointer = begin;
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.pNext = &import_info;
  allocation.allocationSize = range;
  allocation.memoryTypeIndex = static_cast<std::uint32_t>(std::countr_zero(types));
  if (functions.vkAllocateMemory(device_.handle(), &allocation, nullptr, &buffer->imported_) !=
      VK_SUCCESS) {
    buffer->imported_ = VK_NULL_HANDLE;
    return {};
  }
  device_.name(buffer->imported_, name);
  if (functions.vkBindBufferMemory(device_.handle(), buffer->buffer_, buffer->imported_, 0) !=
      VK_SUCCESS) {
    return {};
  }
  return Imported{std::move(buffer), offset};
}

SharedBuffer Memory::adopt(VkBuffer handle, std::uint64_t bytes) {
  SharedBuffer buffer(new Buffer(device_));
  buffer->is_callers_ = true;
  buffer->buffer_ = handle;
  buffer->bytes_ = bytes;
  buffer->range_ = bytes;
  return buffer;
}

Memory::Figures Memory::figures() const {
  VmaTotalStatistics statistics{};
  vmaCalculateStatistics(device_.allocator(), &statistics);
  const VmaStatistics& all = statistics.total.statistics;
  return {.in_use = all.allocationBytes, .idle = all.blockBytes - all.allocationBytes};
}

}  // namespace felsite::vk
