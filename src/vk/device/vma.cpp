// The one file that holds the allocator's code. What that includes must not come into its
// namespace, so it is here already.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <type_traits>
#include <utility>

#define VMA_IMPLEMENTATION
#include "vk/device/vma.h"

namespace felsite::vk {

VkResult make_allocator(const AllocatorTarget& target, VmaAllocator& allocator) {
  const DeviceFunctions& table = target.functions;
  VmaVulkanFunctions functions{};
  functions.vkGetPhysicalDeviceProperties = target.instance_functions.properties;
  functions.vkGetPhysicalDeviceMemoryProperties = target.instance_functions.memory_properties;
  functions.vkGetPhysicalDeviceMemoryProperties2KHR = target.instance_functions.memory_properties2;
  functions.vkAllocateMemory = table.vkAllocateMemory;
  functions.vkFreeMemory = table.vkFreeMemory;
  functions.vkMapMemory = table.vkMapMemory;
  functions.vkUnmapMemory = table.vkUnmapMemory;
  functions.vkFlushMappedMemoryRanges = table.vkFlushMappedMemoryRanges;
  functions.vkInvalidateMappedMemoryRanges = table.vkInvalidateMappedMemoryRanges;
  functions.vkBindBufferMemory = table.vkBindBufferMemory;
  functions.vkBindImageMemory = table.vkBindImageMemory;
  functions.vkGetBufferMemoryRequirements = table.vkGetBufferMemoryRequirements;
  functions.vkGetImageMemoryRequirements = table.vkGetImageMemoryRequirements;
  functions.vkCreateBuffer = table.vkCreateBuffer;
  functions.vkDestroyBuffer = table.vkDestroyBuffer;
  functions.vkCreateImage = table.vkCreateImage;
  functions.vkDestroyImage = table.vkDestroyImage;
  functions.vkCmdCopyBuffer = table.vkCmdCopyBuffer;
  functions.vkGetBufferMemoryRequirements2KHR = table.vkGetBufferMemoryRequirements2;
  functions.vkGetImageMemoryRequirements2KHR = table.vkGetImageMemoryRequirements2;
  functions.vkBindBufferMemory2KHR = table.vkBindBufferMemory2;
  functions.vkBindImageMemory2KHR = table.vkBindImageMemory2;
  functions.vkGetDeviceBufferMemoryRequirements = table.vkGetDeviceBufferMemoryRequirements;
  functions.vkGetDeviceImageMemoryRequirements = table.vkGetDeviceImageMemoryRequirements;

  VmaAllocatorCreateInfo info{};
  if (target.memory_budget) info.flags |= VMA_ALLOCATOR_CREATE_EXT_MEMORY_BUDGET_BIT;
  info.instance = target.instance;
  info.physicalDevice = target.physical_device;
  info.device = target.device;
  info.pVulkanFunctions = &functions;
  info.pDeviceMemoryCallbacks = &target.on_allocation;
  info.vulkanApiVersion = target.api_version;
  // The first block is an eighth of it. With the allocator's default of 256 MiB that would be 32
  // MiB, which SwiftShader fills with zeros before the first small buffer can be made.
  info.preferredLargeHeapBlockSize = VkDeviceSize{32} << 20;
  return vmaCreateAllocator(&info, &allocator);
}

}  // namespace felsite::vk
