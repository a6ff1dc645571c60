// The Vulkan Memory Allocator, set up to take its functions from volk's table.
#pragma once

#include <volk.h>

#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#include <vk_mem_alloc.h>

#include "vk/instance_functions.h"

namespace felsite::vk {

struct AllocatorTarget {
  VkInstance instance;
  const InstanceFunctions& instance_functions;
  VkPhysicalDevice physical_device;
  VkDevice device;
  const VolkDeviceTable& functions;
  std::uint32_t api_version;
  bool memory_budget;  // whether VK_EXT_memory_budget was turned on
  VmaDeviceMemoryCallbacks on_allocation;
};
VkResult make_allocator(const AllocatorTarget& target, VmaAllocator& allocator);

}  // namespace felsite::vk
