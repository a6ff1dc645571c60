// From a VkResult to Felsite's error type.
#pragma once

#include <vulkan/vulkan.h>

#include <string>
#include <string_view>

#include "felsite/error.h"

namespace felsite::vk {

// `action` completes "Vulkan could not ...". The code follows from the result (memory, a lost
// device, a missing feature, a timeout); `otherwise` is the code for all other results.
Error vulkan_error(VkResult result, std::string_view action, std::string_view device,
                   ErrorCode otherwise = ErrorCode::DispatchFailed);

// For requests beyond what a device has.
Error unsupported(std::string message, std::string fix, std::string_view device);
Error over_limit(std::string message, std::string fix, std::string_view device,
                 std::uint64_t requested, std::uint64_t available);

}  // namespace felsite::vk
