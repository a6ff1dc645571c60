#include "vk/instance/vulkan_error.h"

#include <fmt/format.h>

#include <array>

#include "base/errors.h"

namespace felsite::vk {
namespace {

struct ResultMeaning {
  VkResult result;
  std::string_view name;
  ErrorCode code;
  std::string_view fix;
};

constexpr std::string_view kUseLessMemory =
    "use smaller buffers or a smaller grid, or free memory of the device.";
constexpr std::string_view kOpenAgain =
    "open the device again; if that recurs, set FELSITE_VALIDATION=1 and report what it says.";
constexpr std::string_view kOtherDriver = "update the driver, or choose another device.";

constexpr std::array kMeanings{
    ResultMeaning{VK_ERROR_OUT_OF_HOST_MEMORY, "VK_ERROR_OUT_OF_HOST_MEMORY",
                  ErrorCode::DeviceOutOfMemory, kUseLessMemory},
    ResultMeaning{VK_ERROR_OUT_OF_DEVICE_MEMORY, "VK_ERROR_OUT_OF_DEVICE_MEMORY",
                  ErrorCode::DeviceOutOfMemory, kUseLessMemory},
    ResultMeaning{VK_ERROR_OUT_OF_POOL_MEMORY, "VK_ERROR_OUT_OF_POOL_MEMORY",
                  ErrorCode::DeviceOutOfMemory, kUseLessMemory},
    ResultMeaning{VK_ERROR_FRAGMENTATION, "VK_ERROR_FRAGMENTATION", ErrorCode::DeviceOutOfMemory,
                  kUseLessMemory},
    ResultMeaning{VK_ERROR_FRAGMENTED_POOL, "VK_ERROR_FRAGMENTED_POOL",
                  ErrorCode::DeviceOutOfMemory, kUseLessMemory},
    ResultMeaning{VK_ERROR_TOO_MANY_OBJECTS, "VK_ERROR_TOO_MANY_OBJECTS",
                  ErrorCode::DeviceOutOfMemory, "keep fewer devices or kernels open at once."},
    ResultMeaning{VK_ERROR_MEMORY_MAP_FAILED, "VK_ERROR_MEMORY_MAP_FAILED",
                  ErrorCode::DeviceOutOfMemory, kUseLessMemory},
    ResultMeaning{VK_ERROR_DEVICE_LOST, "VK_ERROR_DEVICE_LOST", ErrorCode::DeviceLost, kOpenAgain},
    ResultMeaning{VK_ERROR_INCOMPATIBLE_DRIVER, "VK_ERROR_INCOMPATIBLE_DRIVER",
                  ErrorCode::UnsupportedFeature,
                  "install a Vulkan driver (Mesa's lavapipe needs no GPU), or use the reference "
                  "backend."},
    ResultMeaning{VK_ERROR_FEATURE_NOT_PRESENT, "VK_ERROR_FEATURE_NOT_PRESENT",
                  ErrorCode::UnsupportedFeature, kOtherDriver},
    ResultMeaning{VK_ERROR_EXTENSION_NOT_PRESENT, "VK_ERROR_EXTENSION_NOT_PRESENT",
                  ErrorCode::UnsupportedFeature, kOtherDriver},
    ResultMeaning{VK_ERROR_LAYER_NOT_PRESENT, "VK_ERROR_LAYER_NOT_PRESENT",
                  ErrorCode::UnsupportedFeature, "unset FELSITE_VALIDATION."},
    ResultMeaning{VK_TIMEOUT, "VK_TIMEOUT", ErrorCode::Timeout,
                  "allow more time, or run a smaller grid."},
};

}  // namespace

Error vulkan_error(VkResult result, std::string_view action, std::string_view device,
                   ErrorCode otherwise) {
  ResultMeaning meaning{result, {}, otherwise, kOtherDriver};
  for (const ResultMeaning& known : kMeanings) {
    if (known.result == result) meaning = known;
  }
  const std::string name = meaning.name.empty()
                               ? fmt::format("VkResult {}", static_cast<int>(result))
                               : std::string(meaning.name);
  Error error =
      base::make_error(meaning.code, fmt::format("Vulkan could not {}: {}.", action, name),
                       std::string(meaning.fix));
  error.context.device = device;
  error.context.vk_result = static_cast<std::int32_t>(result);
  return error;
}

Error unsupported(std::string message, std::string fix, std::string_view device) {
  Error error = base::unsupported(std::move(message), std::move(fix));
  error.context.device = device;
  return error;
}

Error over_limit(std::string message, std::string fix, std::string_view device,
                 std::uint64_t requested, std::uint64_t available) {
  Error error = unsupported(std::move(message), std::move(fix), device);
  return base::with_amounts(std::move(error), requested, available);
}

}  // namespace felsite::vk
