// The Vulkan Memory Allocator, which gets its functions from Felsite. A program may contain another
// version of the allocator, so this one is in our namespace, including its C functions.
#pragma once

#include <vulkan/vulkan.h>

#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
// C++ linkage for each function: the header is within `extern "C"`, where the namespace would not
// count.
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
