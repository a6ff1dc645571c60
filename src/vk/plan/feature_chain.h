// The feature structs of Vulkan, linked into one chain: the same chain asks a device what it has
// and states what a new device is to turn on.
#pragma once

#include <vulkan/vulkan.h>

#include <cstddef>
#include <memory>
#include <vector>

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

  // Features whose struct is not linked stay off.
  void write(const OptionalFeatures& features);

 private:
  VkPhysicalDeviceFeatures2 core_{};
  std::vector<std::unique_ptr<std::byte[]>> structs_;
};

// The features that are on in a chain, whether in structs of single features or of Vulkan versions.
OptionalFeatures features_in(const VkPhysicalDeviceFeatures2* chain);

}  // namespace felsite::vk
