// What the backend says about the device it runs on.
#pragma once

#include <string>

#include "felsite/device_profile.h"
#include "vk/device/device.h"

namespace felsite::vk {

DeviceProfile profile_of(const Device& device);
// Differs wherever lowering or the runtime would do something else.
std::string feature_key_of(const Device& device);

}  // namespace felsite::vk
