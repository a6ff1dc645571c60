#include "vk/device_snapshot.h"

#include <algorithm>

#include "vk/feature_chain.h"

namespace felsite::vk {
namespace {

std::vector<std::string> read_extensions(VkPhysicalDevice device) {
  std::uint32_t count = 0;
  std::vector<VkExtensionProperties> found;
  // VK_INCOMPLETE: a layer was added between the two calls.
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {
    vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    found.resize(count);
    result = vkEnumerateDeviceExtensionProperties(device, nullptr, &count, found.data());
  }
  if (result != VK_SUCCESS) return {};  // a device without extensions is a device all the same
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) names.emplace_back(found[i].extensionName);
  return names;
}

std::vector<QueueFamily> read_queue_families(VkPhysicalDevice device) {
  std::uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> found(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, found.data());
  std::vector<QueueFamily> families;
  for (const VkQueueFamilyProperties& family : found) {
    families.push_back({family.queueFlags, family.queueCount, family.timestampValidBits});
  }
  return families;
}

void read_limits(const VkPhysicalDeviceLimits& limits, SnapshotLimits& out) {
  std::copy_n(limits.maxComputeWorkGroupSize, 3, out.workgroup_size.begin());
  std::copy_n(limits.maxComputeWorkGroupCount, 3, out.workgroup_count.begin());
  out.workgroup_invocations = limits.maxComputeWorkGroupInvocations;
  out.shared_bytes = limits.maxComputeSharedMemorySize;
  out.storage_buffers_per_stage = limits.maxPerStageDescriptorStorageBuffers;
  out.storage_buffers_per_set = limits.maxDescriptorSetStorageBuffers;
  out.push_constant_bytes = limits.maxPushConstantsSize;
  out.storage_buffer_range = limits.maxStorageBufferRange;
  out.timestamp_period_ns = limits.timestampPeriod;
}

void read_properties(VkPhysicalDevice device, DeviceSnapshot& out) {
  VkPhysicalDeviceSubgroupProperties subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  VkPhysicalDeviceMaintenance3Properties allocations{};
  allocations.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  allocations.pNext = &subgroups;
  VkPhysicalDeviceProperties2 core{};
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  core.pNext = &allocations;
  VkPhysicalDeviceDriverProperties driver{};
  driver.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES;
  if (out.offers(VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, VK_API_VERSION_1_2)) {
    driver.pNext = core.pNext;
    core.pNext = &driver;
  }
  VkPhysicalDeviceFloatControlsProperties floats{};
  floats.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES;
  if (out.offers(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2)) {
    floats.pNext = core.pNext;
    core.pNext = &floats;
  }
  vkGetPhysicalDeviceProperties2(device, &core);

  read_limits(core.properties.limits, out.limits);
  out.limits.allocation_bytes = allocations.maxMemoryAllocationSize;
  out.driver = driver.driverID;
  out.driver_name = driver.driverName;
  out.driver_info = driver.driverInfo;
  out.subgroups = {subgroups.subgroupSize, subgroups.supportedOperations,
                   subgroups.supportedStages};
  out.float_controls = {
      .preserve_specials32 = floats.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE,
      .preserve_specials64 = floats.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE,
      .round_to_even32 = floats.shaderRoundingModeRTEFloat32 == VK_TRUE,
      .round_to_even64 = floats.shaderRoundingModeRTEFloat64 == VK_TRUE,
  };
}

}  // namespace

bool DeviceSnapshot::has_extension(std::string_view extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

bool DeviceSnapshot::offers(std::string_view extension, std::uint32_t core_version) const {
  return api_version >= core_version || has_extension(extension);
}

DeviceSnapshot read_snapshot(VkPhysicalDevice device) {
  DeviceSnapshot snapshot;
  VkPhysicalDeviceProperties basics{};
  vkGetPhysicalDeviceProperties(device, &basics);
  snapshot.name = basics.deviceName;
  snapshot.api_version = std::min(basics.apiVersion, kHighestApiVersion);
  snapshot.type = basics.deviceType;
  snapshot.driver_version = basics.driverVersion;
  read_limits(basics.limits, snapshot.limits);
  snapshot.queue_families = read_queue_families(device);
  // A Vulkan 1.0 device cannot be asked more; it is refused later, with its name.
  if (snapshot.api_version < VK_API_VERSION_1_1) return snapshot;
  snapshot.extensions = read_extensions(device);
  read_properties(device, snapshot);
  FeatureChain features(snapshot);
  vkGetPhysicalDeviceFeatures2(device, features.head());
  snapshot.features = features.read();
  return snapshot;
}

std::optional<std::uint32_t> compute_family(const DeviceSnapshot& snapshot) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < snapshot.queue_families.size(); ++i) {
    const QueueFamily& family = snapshot.queue_families[i];
    if ((family.flags & VK_QUEUE_COMPUTE_BIT) == 0 || family.queues == 0) continue;
    if (family.timestamp_bits != 0) return i;
    if (!found) found = i;
  }
  return found;
}

}  // namespace felsite::vk
