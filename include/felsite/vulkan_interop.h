// Felsite on a Vulkan device that the caller already has.
//
// This is the only public header with Vulkan's types, and no other one includes it. A program that
// does not include it needs no Vulkan headers.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "felsite/vulkan.h"

namespace felsite {

// An instance, a device and a queue of the caller, and what was enabled when they were created.
//
// A driver does not report afterwards what was enabled, so anything that is not stated here counts
// as off, whatever the device supports. A feature counts only if its extension, or a version that
// contains it, is stated too. Felsite works without what is off; it only requires Vulkan 1.1 and a
// compute queue. Claiming a feature that is off is undefined behaviour, as it is in Vulkan.
//
// Everything here belongs to the caller and must outlive what Felsite creates from it. Felsite
// destroys its own objects once its work on the queue has ended, and none of these.
struct VulkanInterop {
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical_device = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  std::uint32_t queue_family = 0;  // of the queue

  // VkApplicationInfo::apiVersion of the instance. Newer features are used as extensions only.
  std::uint32_t api_version = VK_API_VERSION_1_1;
  // VkDeviceCreateInfo::ppEnabledExtensionNames. Felsite makes use of VK_KHR_push_descriptor,
  // VK_EXT_memory_budget, VK_EXT_external_memory_host, VK_EXT_conditional_rendering and
  // VK_EXT_robustness2, among others, and of VK_KHR_timeline_semaphore and VK_KHR_synchronization2
  // before the Vulkan versions that contain them.
  std::span<const char* const> extensions{};
  // The features that were passed to vkCreateDevice, with all structs chained to them:
  // VkPhysicalDeviceVulkan12Features and the like, or single ones. Null: none. Features that were
  // passed as VkDeviceCreateInfo::pEnabledFeatures belong in this struct too.
  const VkPhysicalDeviceFeatures2* features = nullptr;
  // Whether the instance enabled VK_EXT_debug_utils; objects then get names.
  bool debug_utils = false;

  // Locked around every use of the queue, which Vulkan allows for one thread at a time. Null: the
  // caller does not use the queue while Felsite has the device. The caller must not hold it while
  // calling Felsite.
  std::mutex* queue_mutex = nullptr;
  // Where the functions come from. Null: the system's loader, which the instance was created with.
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
};

// The backend `vulkan` on the caller's device. `options.device` must be empty. Spans and pointers
// in `interop` are read during this call only, except for the mutex.
//
// If the device is lost, only its owner can create a new one, so try_recover is UnsupportedFeature.
Result<std::unique_ptr<Backend>> make_vulkan_backend(const VulkanInterop& interop,
                                                     const VulkanOptions& options = {});

// Buffers without copies, in both directions.
//
// Everything that Felsite submits later sees what the caller's commands wrote with compute shaders
// or copies on Felsite's queue. After other kinds of commands, or commands on other queues, the
// caller first makes their writes available to compute shaders and copies. Commands that use what
// Felsite wrote must begin with a barrier against compute shaders and copies. When a call returns,
// its work has ended, except for uploads and for work that exceeded its timeout: Backend::flush
// waits for those.

struct VulkanBuffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  std::uint64_t offset = 0;  // of the first byte
  std::uint64_t bytes = 0;
};
// Where a device buffer lies. It belongs to Felsite, and is valid until it is freed or the device
// is lost.
Result<VulkanBuffer> vulkan_buffer(Backend& backend, const DeviceBuffer& buffer);

// Makes a buffer of the caller, on the device that the caller supplied, usable in the backend's
// calls. It must have the usages STORAGE_BUFFER, TRANSFER_SRC and TRANSFER_DST, be bound to memory,
// and hold at least `bytes`, a multiple of four that is not zero. Freeing the device buffer frees
// nothing of the caller's; buffer and memory must stay until then, and until all work on them has
// ended.
Result<DeviceBuffer> adopt_vulkan_buffer(Backend& backend, VkBuffer buffer, std::uint64_t bytes,
                                         std::string label);

}  // namespace felsite
