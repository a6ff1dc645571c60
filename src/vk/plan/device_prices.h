// How many workgroups a device runs at one time and what its work costs, for the choice between
// forms. Vulkan says neither, so a table has it by kind of device.
#pragma once

#include <array>
#include <optional>

#include "felsite/device_profile.h"
#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

struct DeviceCosts {
  std::uint32_t compute_units = 1;
  DevicePrices prices;
};

// What software devices run on.
struct HostProcessor {
  std::uint32_t cores = 1;
  // Mesa's LP_NUM_THREADS: its worker threads. 0: the thread that submits does all the work.
  std::optional<std::uint32_t> llvmpipe{};
  std::array<std::uint64_t, 3> cache_bytes{};  // as DeviceProfile has them
};

DeviceCosts costs_of(const DeviceSnapshot& device, const HostProcessor& host);

}  // namespace felsite::vk
