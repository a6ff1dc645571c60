// What the backend reports about its device.
#pragma once

#include <string>

#include "felsite/device_profile.h"
#include "vk/device/device.h"

namespace felsite::vk {

DeviceProfile profile_of(const Device& device);
// Differs if lowering or the runtime would behave differently.
std::string feature_key_of(const Device& device);

}  // namespace felsite::vk
