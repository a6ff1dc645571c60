// What the backend reports about its device.
#pragma once

#include <string>

#include "felsite/device_profile.h"
#include "vk/device/device.h"
#include "vk/plan/device_prices.h"

namespace felsite::vk {

inline constexpr const char* kBackendId = "vulkan";

// Of this process.
HostProcessor host_processor();

// What a backend reports that opens the device by this plan.
DeviceProfile profile_of(const DeviceSnapshot& snapshot, const DevicePlan& plan,
                         const HostProcessor& host);
// Differs if lowering or the runtime would behave differently.
std::string feature_key_of(const Device& device);

}  // namespace felsite::vk
