// Drivers that state what cannot be: a device is refused for it, before anything divides by it.
#pragma once

#include <string_view>

#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// A clause for the reasons against a device; empty: all of it can be true. Limits that are merely
// smaller than Vulkan allows are none: kernels that fit run.
std::string_view impossible_limit(const DeviceSnapshot& device);

}  // namespace felsite::vk
