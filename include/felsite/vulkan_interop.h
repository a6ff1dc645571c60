// Felsite on a Vulkan device that the caller already has.
//
// The only public header with Vulkan's types, and no other one includes it: without it no program
// needs Vulkan's headers.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "felsite/vulkan.h"

namespace felsite {

// An instance, a device and a queue of the caller, and what was turned on when they were made.
//
// A driver does not tell afterwards what was turned on, so the rule is: what is not said here
// counts as off, however much the device could do. Felsite then goes without it; nothing is
// required but Vulkan 1.1 and a queue that computes. To say what is not so is undefined, as it is
// for Vulkan.
//
// Everything here stays the caller's. It must outlive what Felsite makes of it; Felsite destroys
// its own objects, after its work on the queue has ended, and none of these.
struct VulkanInterop {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;  // of the queue

  // VkApplicationInfo::apiVersion of the instance: what is newer is used by extension only.
  std::uint32_t api_version = VK_API_VERSION_1_1;
  // VkDeviceCreateInfo::ppEnabledExtensionNames. Among those that Felsite makes use of are
  // VK_KHR_push_descriptor, VK_EXT_memory_budget, VK_EXT_external_memory_host,
  // VK_EXT_conditional_rendering and VK_EXT_robustness2, and before the Vulkan version that
  // contains them VK_KHR_timeline_semaphore and VK_KHR_synchronization2.
  std::span<const char* const> extensions{};
  // The features as they were given to vkCreateDevice, with all structs that are chained to them,
  // VkPhysicalDeviceVulkan12Features and its like or single ones; null: none. Features that were
  // given as VkDeviceCreateInfo::pEnabledFeatures belong into this struct too.
  const VkPhysicalDeviceFeatures2* features = nullptr;
  // Whether the instance has VK_EXT_debug_utils: objects are then given names.
  bool debug_utils = false;

  // Held around every use of the queue, which Vulkan allows one thread at a time; null: while
  // Felsite has the device, the caller does not use the queue. The caller does not hold it while it
  // calls Felsite.
  std::mutex* queue_mutex = nullptr;
  // Where the functions come from; null: the system's loader, which the instance was made with.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
};

// The backend `vulkan` on the caller's device. `options.device` stays empty. What is a span or a
// pointer in `interop` is looked at here only, but for the mutex.
//
// If the device is lost, only its owner can make a new one: try_recover is UnsupportedFeature.
Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanInterop& interop,
                                                     const VulkanOptions& options = {});

// Buffers without copies, in both directions.
//
// What the caller's commands wrote by compute shaders or copies on Felsite's queue is seen by all
// that Felsite submits later. After commands of other kinds, or of other queues, the caller first
// makes their writes available to compute shaders and copies. Commands that use what Felsite wrote
// begin with a barrier against compute shaders and copies. When a call is back its work has ended,
// but for uploads and for what exceeded its timeout: Backend::flush waits for those.

struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;  // of the first byte
  std::uint64_t bytes = 0;
};
// Where a device buffer lies. It is Felsite's: valid until it is freed, or the device is lost.
Result<VulkanBuffer> vulkan_buffer(Backend& backend, const DeviceBuffer& buffer);

// A buffer of the caller on the device that the caller brought along, as one that the backend's
// calls take. It was made with the usages STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST, has
// memory, and holds at least `bytes`, a multiple of four and not zero. Freeing the device buffer
// frees nothing of the caller's; buffer and memory stay until then, and until no work is under way.
Result<DeviceBuffer> adopt_vulkan_buffer(Backend& backend, VkBuffer buffer, std::uint64_t bytes,
                                         std::string label);

}  // namespace felsite
