// Which of the devices of a machine to open: a pure function over their snapshots.
#pragma once

#include <span>
#include <string_view>

#include "felsite/error.h"
#include "vk/device_snapshot.h"

namespace felsite::vk {

// The position of the device to open: of those whose name contains `name_contains` and that can be
// used, the first of the strongest kind. UnsupportedFeature with the reason against each if none.
Result<std::size_t> choose_device(std::span<const DeviceSnapshot> devices,
                                  std::string_view name_contains);

}  // namespace felsite::vk
