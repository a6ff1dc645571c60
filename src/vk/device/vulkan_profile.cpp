#include "vk/device/vulkan_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "vk/plan/device_prices.h"
#include "vk/plan/quirks.h"

namespace felsite::vk {

using codegen::Capabilities;
using codegen::Feature;

namespace {

// Of this process.
HostThreads host_threads() {
  HostThreads host{.cores = std::max(std::thread::hardware_concurrency(), 1u)};
  const char* const text = std::getenv("LP_NUM_THREADS");
  if (text == nullptr) return host;
  const std::string_view value(text);
  std::uint32_t threads = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), threads);
  if (read.ec == std::errc() && read.ptr == value.data() + value.size()) host.llvmpipe = threads;
  return host;
}

}  // namespace

DeviceProfile profile_of(const Device& device) {
  const DeviceSnapshot& snapshot = device.snapshot();
  const Capabilities& mask = device.capabilities();
  DeviceProfile profile;
  profile.name = snapshot.name;
  profile.subgroup_ops = mask.has(Feature::LinearSubgroups) && mask.has(Feature::SubgroupBallot) &&
                         mask.has(Feature::SubgroupShuffle) && mask.subgroup_size <= 64;
  profile.f64 = mask.has(Feature::Float64);
  profile.int64 = mask.has(Feature::Int64);
  profile.async_compute = true;
  profile.indirect_dispatch = true;
  profile.resident_dispatch = true;
  profile.allows_host_grid_sync_split = true;
  profile.max_workgroup_size = mask.limits.workgroup_size;
  profile.max_workgroup_count.fill(UINT32_MAX);  // larger grids run in parts
  profile.workgroups_per_dispatch = snapshot.limits.workgroup_count;
  profile.conditional_steps = device.plan().has(RuntimeFeature::ConditionalRendering);
  profile.storage_offset_alignment = snapshot.limits.storage_buffer_alignment;
  profile.max_workgroup_invocations = mask.limits.workgroup_invocations;
  profile.subgroup_size = mask.subgroup_size;
  profile.max_storage_buffers = mask.limits.storage_buffers;
  profile.loop_budget = mask.loop_budget;
  profile.max_storage_buffer_bytes =
      std::min(snapshot.limits.storage_buffer_range, snapshot.limits.allocation_bytes);
  for (const MemoryHeap& heap : snapshot.memory_heaps) {
    profile.memory_bytes = std::max(profile.memory_bytes, heap.bytes);
  }
  profile.shared_memory_bytes = mask.limits.shared_bytes;
  const DeviceCosts costs = costs_of(snapshot, host_threads());
  profile.compute_units = costs.compute_units;
  profile.prices = costs.prices;
  profile.timing_quality = device.timestamp_bits() != 0 ? "device timestamps" : "host clock";
  note_quirks(snapshot, profile);
  profile.emulations.emplace_back(
      "Grid barriers are the boundaries between dispatches, or barriers of one workgroup.");
  profile.emulations.emplace_back("f16 and bf16 are computed in 32 bits and rounded.");
  if (!profile.int64) profile.emulations.emplace_back("64-bit integers are pairs of words.");
  if (!profile.subgroup_ops) {
    profile.emulations.emplace_back("Subgroups are formed in workgroup memory.");
  }
  return profile;
}

std::string feature_key_of(const Device& device) {
  const DeviceSnapshot& snapshot = device.snapshot();
  const Capabilities& mask = device.capabilities();
  const codegen::DeviceLimits& limits = mask.limits;
  std::string key = fmt::format(
      "vulkan-{}/{}/{} {} {:#x}/features {}/spirv {:#x}/subgroup {}/budget {}", FELSITE_VERSION,
      snapshot.name, snapshot.driver_name, snapshot.driver_info, snapshot.driver_version,
      mask.features.to_string(), mask.spirv_version, mask.subgroup_size, mask.loop_budget);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    key += fmt::format("/{} {}", limits.workgroup_size[axis], limits.workgroup_count[axis]);
  }
  key += fmt::format("/{} {} {} {}", limits.workgroup_invocations, limits.shared_bytes,
                     limits.storage_buffers, limits.push_constant_bytes);
  return key + fmt::format("/runtime {}", device.plan().runtime.to_string());
}

}  // namespace felsite::vk
