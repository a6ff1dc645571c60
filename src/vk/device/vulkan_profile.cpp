#include "vk/device/vulkan_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "base/host_memory.h"
#include "vk/plan/quirks.h"

namespace felsite::vk {

using codegen::Capabilities;
using codegen::Feature;

namespace {

// Kernels that Felsite adds to a program have this size (src/dispatch/schedule/kernels).
constexpr Extent3 kOwnWorkgroup{64, 1, 1};

std::vector<DeviceMemoryHeap> heaps_of(const DeviceSnapshot& snapshot) {
  std::vector<DeviceMemoryHeap> heaps;
  for (const MemoryHeap& heap : snapshot.memory_heaps) {
    heaps.push_back(
        {.bytes = heap.bytes, .device_local = (heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0});
  }
  for (const MemoryType& type : snapshot.memory_types) {
    if (type.heap >= heaps.size()) continue;
    heaps[type.heap].host_visible |= (type.flags & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT) != 0;
  }
  return heaps;
}

void note_emulations(DeviceProfile& profile) {
  const auto note = [&](const char* text) { profile.emulations.emplace_back(text); };
  note("Grid barriers are the boundaries between dispatches, or barriers of one workgroup.");
  note("f16 and bf16 are computed in 32 bits and rounded.");
  note("For another workgroup size a program is lowered again.");
  if (!profile.int64) note("64-bit integers are pairs of words.");
  if (!profile.subgroup_ops) note("Subgroups are formed in workgroup memory.");
}

}  // namespace

HostProcessor host_processor() {
  HostProcessor host{.cores = std::max(std::thread::hardware_concurrency(), 1u),
                     .cache_bytes = base::host_cache_bytes()};
  const char* const text = std::getenv("LP_NUM_THREADS");
  if (text == nullptr) return host;
  const std::string_view value(text);
  std::uint32_t threads = 0;
  const auto read = std::from_chars(value.data(), value.data() + value.size(), threads);
  if (read.ec == std::errc() && read.ptr == value.data() + value.size()) host.llvmpipe = threads;
  return host;
}

DeviceProfile profile_of(const DeviceSnapshot& snapshot, const DevicePlan& plan,
                         const HostProcessor& host) {
  const Capabilities& mask = plan.capabilities;
  const bool is_software = snapshot.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  DeviceProfile profile;
  profile.backend = kBackendId;
  profile.name = snapshot.name;
  // Kernels take all operations of subgroups natively, or none.
  profile.subgroup_ops = mask.has(Feature::LinearSubgroups) && mask.has(Feature::SubgroupBallot) &&
                         mask.has(Feature::SubgroupShuffle) && mask.subgroup_size <= 64;
  profile.subgroup_shuffle = profile.subgroup_ops;
  profile.f64 = mask.has(Feature::Float64);
  profile.int64 = mask.has(Feature::Int64);
  profile.native_int_bits = profile.int64 ? 64 : 32;
  profile.mul_high = true;  // OpUMulExtended
  profile.traps = true;
  // There is one queue for kernels. A result that is staged is copied behind its kernel, and the
  // barrier before the next kernel waits for copies. Software drivers run submissions one after
  // the other: measured on lavapipe and SwiftShader.
  profile.async_compute = plan.memory.reads_in_place && !is_software;
  profile.indirect_dispatch = true;
  profile.resident_dispatch = true;
  profile.allows_host_grid_sync_split = true;
  profile.max_workgroup_size = mask.limits.workgroup_size;
  profile.max_workgroup_count.fill(UINT32_MAX);  // larger grids run in parts
  profile.workgroups_per_dispatch = snapshot.limits.workgroup_count;
  profile.conditional_steps = plan.has(RuntimeFeature::ConditionalRendering);
  profile.storage_offset_alignment = snapshot.limits.storage_buffer_alignment;
  profile.max_workgroup_invocations = mask.limits.workgroup_invocations;
  profile.ideal_workgroup_size = kOwnWorkgroup;
  profile.subgroup_size = mask.subgroup_size;
  profile.max_storage_buffers = mask.limits.storage_buffers;
  profile.loop_budget = mask.loop_budget;
  profile.max_storage_buffer_bytes =
      std::min(snapshot.limits.storage_buffer_range, snapshot.limits.allocation_bytes);
  profile.memory_heaps = heaps_of(snapshot);
  for (const DeviceMemoryHeap& heap : profile.memory_heaps) {
    profile.memory_bytes = std::max(profile.memory_bytes, heap.bytes);
  }
  profile.shared_memory_bytes = mask.limits.shared_bytes;
  if (is_software) profile.cache_bytes = host.cache_bytes;
  const DeviceCosts costs = costs_of(snapshot, host);
  profile.compute_units = costs.compute_units;
  profile.prices = costs.prices;
  const bool has_clock = snapshot.queue_families[plan.compute_family].timestamp_bits != 0;
  profile.timing_quality = has_clock ? TimingQuality::DeviceTimestamps : TimingQuality::HostClock;
  note_quirks(snapshot, profile);
  note_emulations(profile);
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
