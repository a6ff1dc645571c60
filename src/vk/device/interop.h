// What a caller's device may be used for: its snapshot, less what the caller did not turn on.
#pragma once

#include "felsite/vulkan_interop.h"
#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// The device as though it had only what the caller turned on, and only the caller's queue.
DeviceSnapshot restricted(DeviceSnapshot device, const VulkanInterop& interop);

}  // namespace felsite::vk
