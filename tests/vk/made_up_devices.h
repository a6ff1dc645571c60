// Devices that are not here, described as real ones describe themselves.
#pragma once

#include <string>
#include <vector>

#include "vk/plan/device_snapshot.h"

namespace felsite::test {

inline constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
inline constexpr VkMemoryPropertyFlags kMapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
inline constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
inline constexpr VkQueueFlags kEverything =
    VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
inline constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Vulkan 1.1 with nothing optional, and memory that the host does not see.
inline vk::DeviceSnapshot bare_device() {
  vk::DeviceSnapshot device;
  device.name = "Bare 1.1";
  device.uuid = "ba5e0000000000000000000000000001";
  device.type = VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU;
  device.queue_families = {{VK_QUEUE_COMPUTE_BIT, 1, 0}};
  device.memory_heaps = {{1 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {4 * kGiB, 0}};
  device.memory_types = {{kLocal, 0}, {kMapped, 1}};
  return device;
}

// What every current driver has of what the runtime uses.
inline void make_current(vk::DeviceSnapshot& device) {
  device.api_version = VK_API_VERSION_1_3;
  device.features.timeline_semaphore = true;
  device.features.synchronization2 = true;
  device.features.conditional_rendering = true;
  device.features.maintenance4 = true;
  device.features.int64 = true;
  device.extensions = {
      VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
      VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME};
  device.limits.push_descriptors = 32;
  device.limits.host_pointer_alignment = 4096;
}

// A card with an engine for copies, and a window of 256 MiB into its memory: without resizable BAR.
inline vk::DeviceSnapshot discrete_device() {
  vk::DeviceSnapshot device = bare_device();
  make_current(device);
  device.name = "Radeon RX 6800";
  device.uuid = "00000000030000000000000000000000";
  device.driver = VK_DRIVER_ID_MESA_RADV;
  device.queue_families = {{kEverything, 1, 64},
                           {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 4, 64},
                           {VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT, 2, 64}};
  device.memory_heaps = {{16 * kGiB - 256 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT},
                         {32 * kGiB, 0},
                         {256 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}};
  device.memory_types = {{kLocal, 0}, {kMapped, 1}, {kLocal | kMapped, 2}, {kMapped | kCached, 1}};
  return device;
}

// The same with resizable BAR: the host sees all of the card's memory, past its own cache.
inline vk::DeviceSnapshot rebar_device() {
  vk::DeviceSnapshot device = discrete_device();
  device.name = "GeForce RTX 4090";
  device.uuid = "9a1f00000000000000000000000000b1";
  device.driver = VK_DRIVER_ID_NVIDIA_PROPRIETARY;
  device.memory_heaps = {{24 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}, {32 * kGiB, 0}};
  device.memory_types = {{kLocal, 0}, {kMapped, 1}, {kMapped | kCached, 1}, {kLocal | kMapped, 0}};
  return device;
}

// One memory for both, seen by the host in its cache.
inline vk::DeviceSnapshot integrated_device() {
  vk::DeviceSnapshot device = bare_device();
  make_current(device);
  device.name = "Intel Iris Xe";
  device.uuid = "8680409a010000000000000000000000";
  device.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  device.driver = VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA;
  device.queue_families = {{kEverything, 1, 36}, {VK_QUEUE_TRANSFER_BIT, 1, 36}};
  device.memory_heaps = {{12 * kGiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}};
  device.memory_types = {{kLocal, 0}, {kLocal | kMapped, 0}, {kLocal | kMapped | kCached, 0}};
  return device;
}

// Vulkan over Metal: not fully Vulkan, and some of 1.3 as extensions of 1.2.
inline vk::DeviceSnapshot portability_device() {
  vk::DeviceSnapshot device = integrated_device();
  device.name = "Apple M2";
  device.uuid = "0000106b000000000000000100000ab1";
  device.driver = VK_DRIVER_ID_MOLTENVK;
  device.api_version = VK_API_VERSION_1_2;
  device.queue_families = {{kEverything, 1, 64}};
  device.memory_types = {{kLocal, 0}, {kLocal | kMapped | kCached, 0}};
  device.features.maintenance4 = false;
  device.features.conditional_rendering = false;
  device.extensions = {vk::kPortabilitySubset, VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME,
                       VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME};
  return device;
}

inline vk::DeviceSnapshot software_device() {
  vk::DeviceSnapshot device = integrated_device();
  device.name = "llvmpipe (LLVM 15.0.6, 256 bits)";
  device.uuid = "6d65736132322e332e36000000000000";
  device.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  device.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
  device.driver_info = "Mesa 22.3.6 (LLVM 15.0.6)";
  device.queue_families = {{kEverything, 1, 64}};
  device.memory_types = {{kLocal | kMapped | kCached, 0}};
  return device;
}

// Vulkan 1.0 only.
inline vk::DeviceSnapshot ancient_device() {
  vk::DeviceSnapshot device = bare_device();
  device.name = "Ancient 1.0";
  device.uuid.clear();
  device.api_version = VK_API_VERSION_1_0;
  return device;
}

inline vk::DeviceSnapshot device_without_compute() {
  vk::DeviceSnapshot device = discrete_device();
  device.name = "Display only";
  device.uuid = "d15b1a0000000000000000000000000f";
  device.queue_families = {{VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_TRANSFER_BIT, 1, 64},
                           {VK_QUEUE_COMPUTE_BIT, 0, 64}};
  return device;
}

}  // namespace felsite::test
