// What `felsite devices --json` prints.
#pragma once

#include <string>
#include <vector>

#include "felsite/vulkan_devices.h"

namespace felsite::tool {

std::string to_json(const std::vector<VulkanDeviceInfo>& devices);

}  // namespace felsite::tool
