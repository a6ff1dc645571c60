// What a physical device says about itself, as plain data: read once, then judged by pure
// functions, which tests call with devices that do not exist.
#pragma once

#include <vulkan/vulkan.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/extent.h"
#include "vk/instance/instance_functions.h"

namespace felsite::vk {

struct QueueFamily {
  VkQueueFlags flags = 0;
  std::uint32_t queues = 0;
  std::uint32_t timestamp_bits = 0;  // 0: no timestamps
};

struct MemoryHeap {
  std::uint64_t bytes = 0;
  VkMemoryHeapFlags flags = 0;
};

struct MemoryType {
  VkMemoryPropertyFlags flags = 0;
  std::uint32_t heap = 0;  // position among the heaps
};

// The optional features that kernels or the runtime use; feature_table.h has a row for each.
struct OptionalFeatures {
  bool int64 = false;
  bool float64 = false;
  bool storage8 = false;
  bool storage16 = false;
  bool buffer_atomics64 = false;
  bool shared_atomics64 = false;
  bool buffer_float_atomic_add = false;
  bool shared_float_atomic_add = false;
  bool memory_model = false;
  bool memory_model_device_scope = false;
  bool subgroup_extended_types = false;
  bool robust_access = false;
  bool robust_access2 = false;
  bool null_descriptor = false;  // stands for an empty buffer
  bool maintenance4 = false;
  bool timeline_semaphore = false;
  bool synchronization2 = false;
  bool conditional_rendering = false;

  bool operator==(const OptionalFeatures&) const = default;
};

// What the device guarantees about floats; none of it has to be turned on.
struct FloatControls {
  bool preserve_specials32 = false;
  bool preserve_specials64 = false;
  bool round_to_even32 = false;
  bool round_to_even64 = false;
};

struct SubgroupFacts {
  std::uint32_t size = 1;
  VkSubgroupFeatureFlags operations = 0;
  VkShaderStageFlags stages = 0;
};

struct SnapshotLimits {
  Extent3 workgroup_size{128, 128, 64};
  std::uint32_t workgroup_invocations = 128;
  Extent3 workgroup_count{65535, 65535, 65535};
  std::uint32_t shared_bytes = 16384;
  std::uint32_t storage_buffers_per_stage = 4;
  std::uint32_t storage_buffers_per_set = 24;
  std::uint32_t push_constant_bytes = 128;
  std::uint64_t storage_buffer_range = std::uint64_t{1} << 27;
  std::uint64_t storage_buffer_alignment = 256;  // of the offset of a binding
  std::uint64_t non_coherent_atom = 256;         // of ranges that are flushed
  std::uint64_t allocation_bytes = std::uint64_t{1} << 30;
  std::uint32_t allocations = 4096;          // at one time
  std::uint32_t push_descriptors = 0;        // 0: the extension is missing
  std::uint64_t host_pointer_alignment = 0;  // of imported host memory; 0: nothing is imported
  float timestamp_period_ns = 1;
};

// What one physical device reports, without any conclusions.
struct DeviceSnapshot {
  std::string name;
  std::string uuid;  // 32 hexadecimal digits; empty for Vulkan 1.0
  std::uint32_t vendor_id = 0;
  std::uint32_t device_id = 0;
  std::uint32_t stated_version = VK_API_VERSION_1_1;
  std::uint32_t api_version = VK_API_VERSION_1_1;  // that, or the highest Felsite uses
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  VkDriverId driver{};  // 0: the device does not report it
  std::string driver_name;
  std::string driver_info;
  std::uint32_t driver_version = 0;
  bool is_complete = true;  // false if a query of the driver failed
  std::vector<std::string> extensions;
  std::vector<QueueFamily> queue_families;
  std::vector<MemoryHeap> memory_heaps;
  std::vector<MemoryType> memory_types;
  OptionalFeatures features;
  FloatControls float_controls;
  SubgroupFacts subgroups;
  SnapshotLimits limits;

  bool has_extension(std::string_view extension) const;
  // Whether the device has something by its extension, or by its version from `core_version` on.
  bool offers(std::string_view extension, std::uint32_t core_version) const;
};

inline constexpr std::uint32_t kNeverCore = UINT32_MAX;
// The headers name it only among provisional extensions.
inline constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";

DeviceSnapshot read_snapshot(VkPhysicalDevice device, const InstanceFunctions& functions);

// The queue family to compute on; one with timestamps if there is one.
std::optional<std::uint32_t> compute_family(const DeviceSnapshot& snapshot);
// One that copies and does nothing else: its queues run beside the compute queue.
std::optional<std::uint32_t> transfer_family(const DeviceSnapshot& snapshot);

}  // namespace felsite::vk
