// Drivers that state impossible limits: such a device is refused, before anything divides by them.
#pragma once

#include <string_view>

#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// A clause that says what is impossible; empty: nothing. Limits that are merely smaller than Vulkan
// allows are accepted: kernels that fit run.
std::string_view impossible_limit(const DeviceSnapshot& device);

}  // namespace felsite::vk
