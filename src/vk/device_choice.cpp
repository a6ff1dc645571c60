#include "vk/device_choice.h"

#include <fmt/format.h>

#include <optional>

#include "vk/vulkan_error.h"

namespace felsite::vk {
namespace {

// Higher is stronger.
int strength(VkPhysicalDeviceType type) {
  switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_OTHER:
    case VK_PHYSICAL_DEVICE_TYPE_MAX_ENUM:
      return 0;
  }
  return 0;
}

// Empty: nothing speaks against it.
std::string refusal(const DeviceSnapshot& device, std::string_view name_contains) {
  if (device.name.find(name_contains) == std::string::npos) {
    return fmt::format("its name does not contain `{}`", name_contains);
  }
  if (device.api_version < VK_API_VERSION_1_1) return "it knows Vulkan 1.0 only";
  if (!compute_family(device)) return "it has no queue that computes";
  return {};
}

}  // namespace

Result<std::size_t> choose_device(std::span<const DeviceSnapshot> devices,
                                  std::string_view name_contains) {
  std::optional<std::size_t> best;
  std::string reasons;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string reason = refusal(devices[i], name_contains);
    if (!reason.empty()) {
      reasons += fmt::format("{}`{}`: {}", reasons.empty() ? "" : "; ", devices[i].name, reason);
    } else if (!best || strength(devices[i].type) > strength(devices[*best].type)) {
      best = i;
    }
  }
  if (best) return *best;
  if (devices.empty()) {
    return std::unexpected(unsupported("Vulkan lists no device.",
                                       "install a Vulkan driver (Mesa's lavapipe needs no GPU), or "
                                       "use the reference backend.",
                                       ""));
  }
  return std::unexpected(unsupported(fmt::format("No device can be used: {}.", reasons),
                                     "choose another device, or update its driver.",
                                     name_contains));
}

}  // namespace felsite::vk
