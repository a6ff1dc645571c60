// The Vulkan devices of a machine as plain data: what they are, and whether and how they would be
// opened. felsite/vulkan.h declares the call that lists them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/device_profile.h"

namespace felsite {

// A feature that kernels or the runtime use if a device has it; masks refer to it by its name.
struct VulkanFeature {
  std::string_view name;
  std::string_view means;  // what Vulkan calls it, or what it promises
  bool found = false;      // the device has it
  bool on = false;         // it would be used
};

struct VulkanLimit {
  std::string_view name;
  std::uint64_t value = 0;
};

struct VulkanQueueFamily {
  bool graphics = false;
  bool compute = false;
  bool transfer = false;
  std::uint32_t queues = 0;
  std::uint32_t timestamp_bits = 0;
};

struct VulkanMemoryHeap {
  std::uint64_t bytes = 0;
  bool device_local = false;
};

struct VulkanMemoryType {
  std::uint32_t heap = 0;
  bool device_local = false;
  bool host_visible = false;
  bool host_coherent = false;
  bool host_cached = false;
};

struct VulkanQuirk {
  std::string_view name;
  std::string_view why;
};

// How the device would be opened.
struct VulkanDevicePlan {
  std::uint32_t compute_family = 0;
  std::optional<std::uint32_t> transfer_family;  // of the copy queue, if there is one
  bool writes_in_place = false;                  // uploads go directly to device memory
  bool reads_in_place = false;
  std::vector<std::string> extensions;
  std::vector<std::string> notes;  // the reasons, one sentence each
};

struct VulkanDeviceInfo {
  std::size_t position = 0;
  std::string name;
  std::string kind;  // "discrete GPU", "software driver" …
  std::string uuid;  // 32 hexadecimal digits; empty if the device does not report it
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::string driver_name;
  std::string driver_info;
  std::string vulkan_version;  // "1.3.230"
  std::string spirv_version;   // "1.6"

  bool usable = false;  // it can be opened, with the mask that was given
  bool chosen = false;  // it would be opened
  std::string reason;   // why, or why not

  std::uint32_t subgroup_size = 0;
  std::vector<VulkanFeature> features;          // those of kernels
  std::vector<VulkanFeature> runtime_features;  // those of the runtime
  std::vector<VulkanLimit> limits;
  std::vector<VulkanQueueFamily> queue_families;
  std::vector<VulkanMemoryHeap> memory_heaps;
  std::vector<VulkanMemoryType> memory_types;
  std::vector<VulkanQuirk> quirks;
  // Of a usable device.
  std::optional<VulkanDevicePlan> plan;
  std::optional<DeviceProfile> profile;  // what its backend would report
};

// The features that a mask may name, independent of a device.
std::vector<VulkanFeature> vulkan_runtime_features();

}  // namespace felsite
