// Which of the devices of a machine a wish means: a pure function over their snapshots.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/error.h"
#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// Whether it runs on the host's processor. Such a device is chosen only if it is named, or if no
// hardware can be used.
bool is_software(const DeviceSnapshot& device);
// "discrete GPU", "software driver" …
std::string_view kind_of(const DeviceSnapshot& device);

struct RankedDevice {
  std::string against;  // why it cannot be used at all; empty: it can
  bool meant = false;   // whether the wish names it
  bool chosen = false;
  std::string reason;  // why it is chosen or why not
};

// One entry for each device. `wanted` is a position ("0"), a UUID or at least eight of its first
// digits, or a part of a name, in this order; empty means every device. Of the named devices that
// can be used, the first of the strongest kind is chosen.
std::vector<RankedDevice> rank_devices(std::span<const DeviceSnapshot> devices,
                                       std::string_view wanted);

// The position of the chosen one; UnsupportedFeature with the reason against each if there is none.
Result<std::size_t> choose_device(std::span<const DeviceSnapshot> devices, std::string_view wanted);

}  // namespace felsite::vk
