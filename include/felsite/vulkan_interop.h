// Felsite on a Vulkan device that the caller already has.
//
// This is the only public header with Vulkan's types, and no other one includes it: programs that
// do not include it need no Vulkan headers.
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
// A driver does not report what was turned on, so the rule is: what is not stated here counts as
// off, whatever the device could do. A feature counts only if its extension, or a version that
// contains it, is stated too. Nothing is required but Vulkan 1.1 and a queue that computes.
// Claiming a feature that is off is undefined behaviour.
//
// The caller keeps owning all of it, and it must outlive the backend. Felsite destroys only its own
// objects, after its work on the queue has ended.
struct VulkanInterop {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;  // of the queue

  // VkApplicationInfo::apiVersion of the instance: newer features are used by extension only.
  std::uint32_t api_version = VK_API_VERSION_1_1;
  // VkDeviceCreateInfo::ppEnabledExtensionNames. Among those that Felsite uses are
  // VK_KHR_push_descriptor, VK_EXT_memory_budget, VK_EXT_external_memory_host,
  // VK_EXT_conditional_rendering and VK_EXT_robustness2, and before the Vulkan version that
  // contains them VK_KHR_timeline_semaphore and VK_KHR_synchronization2.
  std::span<const char* const> extensions{};
  // The features as they were given to vkCreateDevice, with all structs that are chained to them,
  // VkPhysicalDeviceVulkan12Features and its like or single ones; null: none. Features that were
  // given as VkDeviceCreateInfo::pEnabledFeatures belong in this struct too.
  const VkPhysicalDeviceFeatures2* features = nullptr;
  // Whether the instance has VK_EXT_debug_utils, so that objects can be named.
  bool debug_utils = false;

  // Felsite locks it around every use of the queue, which only one thread may use at a time. Null:
  // the caller does not use the queue while the backend exists. The caller must not hold it while
  // it calls Felsite.
  std::mutex* queue_mutex = nullptr;
  // Where the functions come from; null: the system's loader, if the instance was made with it.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
};

// The backend `vulkan` on the caller's device. `options.device` must be empty. Spans and pointers
// in `interop` are read only during this call, except for the mutex.
//
// If the device is lost, only its owner can make a new one: try_recover is UnsupportedFeature.
Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanInterop& interop,
                                                     const VulkanOptions& options = {});

// Buffers without copies, in both directions.
//
// All that Felsite submits sees earlier writes of the caller's compute shaders and copies on the
// same queue. After other commands, or on other queues, the caller first makes the writes available
// to compute shaders and copies. Commands that use what Felsite wrote begin with a barrier against
// compute shaders and copies. When a call returns its work has ended, except for uploads and for
// work that exceeded its timeout; Backend::flush waits for both.

struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;  // of the first byte
  std::uint64_t bytes = 0;
};
// The Vulkan buffer of a device buffer. Felsite owns it: it is valid until it is freed, or the
// device is lost.
Result<VulkanBuffer> vulkan_buffer(Backend& backend, const DeviceBuffer& buffer);

// Makes a device buffer of a buffer on the caller's device, which must have the usages
// STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST, be bound to memory, and hold at least `bytes`, a
// multiple of four and not zero. Freeing the device buffer does not free the caller's buffer. The
// caller keeps buffer and memory until then, and until no work uses them.
Result<DeviceBuffer> adopt_vulkan_buffer(Backend& backend, VkBuffer buffer, std::uint64_t bytes,
                                         std::string label);

}  // namespace felsite
