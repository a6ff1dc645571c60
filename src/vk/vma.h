// The Vulkan Memory Allocator, set up to take its functions from volk's table.
#pragma once

#include <volk.h>

#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#include <vk_mem_alloc.h>

namespace felsite::vk {

struct AllocatorTarget {
  VkInstance instance;
  VkPhysicalDevice physical_device;
  VkDevice device;
  const VolkDeviceTable& functions;
  std::uint32_t api_version;
};
VkResult make_allocator(const AllocatorTarget& target, VmaAllocator& allocator);

}  // namespace felsite::vk
