// The Vulkan Memory Allocator, which takes its functions from us. A program may have an allocator
// of its own, in another version: so this one is in our namespace, its C functions too.
#pragma once

#include <vulkan/vulkan.h>

#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
// Each function is declared so, within `extern "C"`: without it the namespace would not matter.
#define VMA_CALL_PRE extern "C++"
namespace felsite::vk {
#include <vk_mem_alloc.h>
}  // namespace felsite::vk

#include "vk/device/device_functions.h"
#include "vk/instance/instance_functions.h"

namespace felsite::vk {

struct AllocatorTarget {
  VkInstance instance;
  const InstanceFunctions& instance_functions;
  VkPhysicalDevice physical_device;
  VkDevice device;
  const DeviceFunctions& functions;
  std::uint32_t api_version;
  bool memory_budget;  // whether VK_EXT_memory_budget was turned on
  VmaDeviceMemoryCallbacks on_allocation;
};
VkResult make_allocator(const AllocatorTarget& target, VmaAllocator& allocator);

}  // namespace felsite::vk
