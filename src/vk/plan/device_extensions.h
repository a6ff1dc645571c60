// Which extensions a new device has to turn on.
#pragma once

#include <string>
#include <vector>

#include "vk/plan/device_snapshot.h"
#include "vk/plan/runtime_features.h"

namespace felsite::vk {

// Those that the features need and the device's Vulkan version does not already contain.
std::vector<std::string> extensions_for(const DeviceSnapshot& device,
                                        const OptionalFeatures& features,
                                        const RuntimeFeatures& runtime);

}  // namespace felsite::vk
