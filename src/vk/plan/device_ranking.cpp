#include "vk/plan/device_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "vk/instance/vulkan_error.h"
#include "vk/plan/stated_limits.h"

namespace felsite::vk {
namespace {

// Shorter ones would too often match a part of a name by chance.
constexpr std::size_t kMinUuidDigits = 8;

// Higher is stronger. A device of type "other" is more likely hardware than software.
int strength(const DeviceSnapshot& device) {
  if (is_software(device)) return 0;
  switch (device.type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return 2;
    case VK_PHYSICAL_DEVICE_TYPE_OTHER:
      return 1;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
    case VK_PHYSICAL_DEVICE_TYPE_MAX_ENUM:
      return 0;
  }
  return 0;
}

std::string against(const DeviceSnapshot& device) {
  if (device.api_version < VK_API_VERSION_1_1) return "it knows Vulkan 1.0 only";
  if (!device.is_complete) return "its driver does not say what it can do";
  if (!compute_family(device)) return "it has no queue that computes";
  return std::string(impossible_limit(device));
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// The digits of a UUID or of its beginning, without the dashes that tools write.
std::optional<std::string> uuid_digits(std::string_view text) {
  std::string digits = lower_case(text);
  std::erase(digits, '-');
  const bool hexadecimal = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (digits.size() < kMinUuidDigits || !hexadecimal) return std::nullopt;
  return digits;
}

// What a wish says, and which devices match it.
struct Meant {
  std::vector<bool> devices;
  std::string yes;  // true of these devices
  std::string no;   // true of the others
  bool must_be_one = false;
};

Meant devices_meant(std::span<const DeviceSnapshot> devices, std::string_view wanted) {
  Meant meant{std::vector<bool>(devices.size(), wanted.empty()), {}, {}};
  if (wanted.empty()) return meant;
  std::size_t position = 0;
  const char* const end = wanted.data() + wanted.size();
  const auto read = std::from_chars(wanted.data(), end, position);
  const bool is_number = read.ec == std::errc{} && read.ptr == end;
  // A number that is not a position may still be part of a name, and a long one of a UUID.
  if (is_number && position < devices.size() && wanted.size() < kMinUuidDigits) {
    meant.devices[position] = true;
    meant.yes = fmt::format("it is device {}", position);
    meant.no = fmt::format("device {} was asked for", position);
    return meant;
  }
  if (const auto digits = uuid_digits(wanted)) {
    for (std::size_t i = 0; i < devices.size(); ++i) {
      meant.devices[i] = devices[i].uuid.starts_with(*digits);
    }
    if (std::ranges::count(meant.devices, true) != 0) {
      meant.yes = fmt::format("its UUID begins with `{}`", wanted);
      meant.no = fmt::format("its UUID does not begin with `{}`", wanted);
      meant.must_be_one = true;
      return meant;
    }
  }
  const std::string part = lower_case(wanted);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    meant.devices[i] = lower_case(devices[i].name).find(part) != std::string::npos;
  }
  meant.yes = fmt::format("its name contains `{}`", wanted);
  meant.no = fmt::format("its name does not contain `{}`", wanted);
  return meant;
}

// Why another device is better than this one, which the wish names too and which could be used.
std::string why_not(std::span<const DeviceSnapshot> devices, std::size_t position,
                    std::size_t chosen) {
  const DeviceSnapshot& device = devices[position];
  const DeviceSnapshot& better = devices[chosen];
  if (strength(device) == strength(better)) {
    return fmt::format("device {} is of the same kind and comes first", chosen);
  }
  if (is_software(device)) {
    return fmt::format("it is software, and device {} is a {}", chosen, kind_of(better));
  }
  return fmt::format("device {} is a {}", chosen, kind_of(better));
}

}  // namespace

bool is_software(const DeviceSnapshot& device) {
  return device.type == VK_PHYSICAL_DEVICE_TYPE_CPU ||
         device.driver == VK_DRIVER_ID_MESA_LLVMPIPE ||
         device.driver == VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
}

std::string_view kind_of(const DeviceSnapshot& device) {
  if (is_software(device)) return "software driver";
  switch (device.type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
      return "discrete GPU";
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
      return "integrated GPU";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
      return "virtual GPU";
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
    case VK_PHYSICAL_DEVICE_TYPE_OTHER:
    case VK_PHYSICAL_DEVICE_TYPE_MAX_ENUM:
      break;
  }
  return "device of no stated kind";
}

std::vector<RankedDevice> rank_devices(std::span<const DeviceSnapshot> devices,
                                       std::string_view wanted) {
  const Meant meant = devices_meant(devices, wanted);
  const bool ambiguous = meant.must_be_one && std::ranges::count(meant.devices, true) > 1;
  std::vector<RankedDevice> ranked(devices.size());
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    ranked[i].against = against(devices[i]);
    ranked[i].meant = meant.devices[i];
    if (!ranked[i].meant || !ranked[i].against.empty() || ambiguous) continue;
    if (!chosen || strength(devices[i]) > strength(devices[*chosen])) chosen = i;
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    RankedDevice& device = ranked[i];
    device.chosen = chosen == i;
    if (!device.meant) {
      device.reason = meant.no;
    } else if (!device.against.empty()) {
      device.reason = device.against;
    } else if (ambiguous) {
      device.reason = meant.yes + ", as does that of another device";
    } else if (device.chosen) {
      device.reason = meant.yes.empty() ? fmt::format("it is the first of the strongest kind, a {}",
                                                      kind_of(devices[i]))
                                        : meant.yes;
    } else {
      device.reason = why_not(devices, i, *chosen);
    }
  }
  return ranked;
}

Result<std::size_t> choose_device(std::span<const DeviceSnapshot> devices,
                                  std::string_view wanted) {
  if (devices.empty()) {
    return std::unexpected(unsupported("Vulkan lists no device.",
                                       "install a Vulkan driver (Mesa's lavapipe needs no GPU), or "
                                       "use the reference backend.",
                                       ""));
  }
  const std::vector<RankedDevice> ranked = rank_devices(devices, wanted);
  std::string reasons;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i].chosen) return i;
    reasons +=
        fmt::format("{}`{}`: {}", reasons.empty() ? "" : "; ", devices[i].name, ranked[i].reason);
  }
  return std::unexpected(unsupported(fmt::format("No device can be used: {}.", reasons),
                                     "choose another device, or update its driver.", wanted));
}

}  // namespace felsite::vk
