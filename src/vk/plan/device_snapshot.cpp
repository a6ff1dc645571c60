#include "vk/plan/device_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "vk/instance/enumerate.h"
#include "vk/plan/feature_chain.h"

namespace felsite::vk {
namespace {

// None if the query fails: the device must not look weaker than it is.
std::optional<std::vector<std::string>> read_extensions(VkPhysicalDevice device,
                                                        const InstanceFunctions& functions) {
  std::vector<VkExtensionProperties> found;
  const VkResult result = enumerate(found, [&](std::uint32_t* count, VkExtensionProperties* rows) {
    return functions.enumerate_device_extensions(device, nullptr, count, rows);
  });
  if (result != VK_SUCCESS) return std::nullopt;
  std::vector<std::string> names;
  for (const VkExtensionProperties& extension : found) names.emplace_back(extension.extensionName);
  return names;
}

std::vector<QueueFamily> read_queue_families(VkPhysicalDevice device,
                                             const InstanceFunctions& functions) {
  std::uint32_t count = 0;
  functions.queue_family_properties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> found(count);
  functions.queue_family_properties(device, &count, found.data());
  std::vector<QueueFamily> families;
  for (const VkQueueFamilyProperties& family : found) {
    families.push_back({family.queueFlags, family.queueCount, family.timestampValidBits});
  }
  return families;
}

void read_memory(VkPhysicalDevice device, const InstanceFunctions& functions, DeviceSnapshot& out) {
  VkPhysicalDeviceMemoryProperties found{};
  functions.memory_properties(device, &found);
  found.memoryHeapCount = std::min<std::uint32_t>(found.memoryHeapCount, VK_MAX_MEMORY_HEAPS);
  found.memoryTypeCount = std::min<std::uint32_t>(found.memoryTypeCount, VK_MAX_MEMORY_TYPES);
  for (std::uint32_t i = 0; i < found.memoryHeapCount; ++i) {
    out.memory_heaps.push_back({found.memoryHeaps[i].size, found.memoryHeaps[i].flags});
  }
  for (std::uint32_t i = 0; i < found.memoryTypeCount; ++i) {
    out.memory_types.push_back(
        {found.memoryTypes[i].propertyFlags, found.memoryTypes[i].heapIndex});
  }
}

std::string hex_text(std::span<const std::uint8_t> bytes) {
  std::string text;
  for (const std::uint8_t byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
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
  out.storage_buffer_alignment = limits.minStorageBufferOffsetAlignment;
  out.non_coherent_atom = limits.nonCoherentAtomSize;
  out.allocations = limits.maxMemoryAllocationCount;
  out.timestamp_period_ns = limits.timestampPeriod;
}

void read_properties(VkPhysicalDevice device, const InstanceFunctions& functions,
                     DeviceSnapshot& out) {
  VkPhysicalDeviceSubgroupProperties subgroups{};
  subgroups.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES;
  VkPhysicalDeviceMaintenance3Properties allocations{};
  allocations.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_3_PROPERTIES;
  allocations.pNext = &subgroups;
  VkPhysicalDeviceProperties2 core{};
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  VkPhysicalDeviceIDProperties identity{};
  identity.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES;
  identity.pNext = &allocations;
  core.pNext = &identity;
  // A struct that the device does not know must not be chained.
  const auto link = [&](auto& next, VkStructureType type, const char* extension,
                        std::uint32_t core_version) {
    next.sType = type;
    if (!out.offers(extension, core_version)) return;
    next.pNext = core.pNext;
    core.pNext = &next;
  };
  VkPhysicalDeviceDriverProperties driver{};
  link(driver, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES,
       VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME, VK_API_VERSION_1_2);
  VkPhysicalDeviceFloatControlsProperties floats{};
  link(floats, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES,
       VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2);
  VkPhysicalDevicePushDescriptorPropertiesKHR pushed{};
  link(pushed, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PUSH_DESCRIPTOR_PROPERTIES_KHR,
       VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, kNeverCore);
  VkPhysicalDeviceExternalMemoryHostPropertiesEXT imported{};
  link(imported, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT,
       VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, kNeverCore);
  functions.properties2(device, &core);

  read_limits(core.properties.limits, out.limits);
  out.limits.allocation_bytes = allocations.maxMemoryAllocationSize;
  out.limits.push_descriptors = pushed.maxPushDescriptors;
  out.limits.host_pointer_alignment = imported.minImportedHostPointerAlignment;
  out.uuid = hex_text(identity.deviceUUID);
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

DeviceSnapshot read_snapshot(VkPhysicalDevice device, const InstanceFunctions& functions) {
  DeviceSnapshot snapshot;
  VkPhysicalDeviceProperties basics{};
  functions.properties(device, &basics);
  snapshot.name = basics.deviceName;
  snapshot.stated_version = basics.apiVersion;
  snapshot.api_version = std::min(basics.apiVersion, kHighestApiVersion);
  snapshot.type = basics.deviceType;
  snapshot.vendor_id = basics.vendorID;
  snapshot.device_id = basics.deviceID;
  snapshot.driver_version = basics.driverVersion;
  read_limits(basics.limits, snapshot.limits);
  snapshot.queue_families = read_queue_families(device, functions);
  read_memory(device, functions, snapshot);
  // A Vulkan 1.0 device has no further queries; it is refused later, with its name.
  if (snapshot.api_version < VK_API_VERSION_1_1) return snapshot;
  auto extensions = read_extensions(device, functions);
  snapshot.is_complete = extensions.has_value();
  if (extensions) snapshot.extensions = std::move(*extensions);
  read_properties(device, functions, snapshot);
  FeatureChain features(snapshot);
  functions.features2(device, features.head());
  snapshot.features = features_in(features.head());
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

std::optional<std::uint32_t> transfer_family(const DeviceSnapshot& snapshot) {
  // Families for video and the like can copy too, but their hardware is not made for it.
  constexpr VkQueueFlags kCopies = VK_QUEUE_TRANSFER_BIT;
  constexpr VkQueueFlags kIrrelevant = VK_QUEUE_SPARSE_BINDING_BIT | VK_QUEUE_PROTECTED_BIT;
  for (std::uint32_t i = 0; i < snapshot.queue_families.size(); ++i) {
    const QueueFamily& family = snapshot.queue_families[i];
    if (family.queues != 0 && (family.flags & ~kIrrelevant) == kCopies) return i;
  }
  return std::nullopt;
}

}  // namespace felsite::vk
