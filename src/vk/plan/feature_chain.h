// The feature structs of Vulkan that Felsite knows, linked into one chain: the same chain asks a
// device what it has and tells a new device what to turn on.
#pragma once

#include <vulkan/vulkan.h>

#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

class FeatureChain {
 public:
  // Links only what the device offers: a struct that a device does not know must not be chained.
  // Needs version and extensions of the snapshot, nothing else. For a new device the extensions
  // are those that will be turned on.
  explicit FeatureChain(const DeviceSnapshot& device);
  FeatureChain(const FeatureChain&) = delete;
  FeatureChain& operator=(const FeatureChain&) = delete;

  VkPhysicalDeviceFeatures2* head() { return &core_; }

  OptionalFeatures read() const;
  void write(const OptionalFeatures& features);

 private:
  template <class Struct>
  void link(const DeviceSnapshot& device, Struct& next, VkStructureType type, const char* extension,
            std::uint32_t core_version);

  VkPhysicalDeviceFeatures2 core_{};
  VkPhysicalDevice16BitStorageFeatures storage16_{};
  VkPhysicalDevice8BitStorageFeatures storage8_{};
  VkPhysicalDeviceShaderAtomicInt64Features atomics64_{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics_{};
  VkPhysicalDeviceVulkanMemoryModelFeatures memory_model_{};
  VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures subgroup_types_{};
  VkPhysicalDeviceRobustness2FeaturesEXT robustness2_{};
  VkPhysicalDeviceMaintenance4Features maintenance4_{};
  VkPhysicalDeviceTimelineSemaphoreFeatures timeline_{};
  VkPhysicalDeviceSynchronization2Features synchronization2_{};
  VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional_{};
  VkBaseOutStructure* tail_ = nullptr;
};

}  // namespace felsite::vk
