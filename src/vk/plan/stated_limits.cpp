#include "vk/plan/stated_limits.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace felsite::vk {
namespace {

// Far more than Vulkan allows, but small enough that sums of offsets do not overflow.
bool is_alignment(std::uint64_t bytes) {
  return std::has_single_bit(bytes) && bytes <= (std::uint64_t{1} << 20);
}

}  // namespace

std::string_view impossible_limit(const DeviceSnapshot& device) {
  const SnapshotLimits& limits = device.limits;
  if (device.memory_heaps.empty() || device.memory_types.empty()) {
    return "its driver states no memory";
  }
  if (std::ranges::any_of(device.memory_types, [&](const MemoryType& type) {
        return type.heap >= device.memory_heaps.size();
      })) {
    return "its driver states memory of a heap that is not there";
  }
  const auto is_zero = [](std::uint32_t limit) { return limit == 0; };
  if (std::ranges::any_of(limits.workgroup_size, is_zero) ||
      std::ranges::any_of(limits.workgroup_count, is_zero) || limits.workgroup_invocations == 0) {
    return "its driver states that no workgroup fits";
  }
  if (limits.storage_buffers_per_stage == 0 || limits.storage_buffers_per_set == 0 ||
      limits.storage_buffer_range == 0 || limits.allocation_bytes == 0) {
    return "its driver states that no buffer fits";
  }
  if (!is_alignment(limits.storage_buffer_alignment) || !is_alignment(limits.non_coherent_atom)) {
    return "its driver states an alignment that cannot be";
  }
  const bool has_clock = std::ranges::any_of(
      device.queue_families, [](const QueueFamily& family) { return family.timestamp_bits != 0; });
  const float period = limits.timestamp_period_ns;
  if (has_clock && !(std::isfinite(period) && period > 0)) {
    return "its driver states a clock that cannot be";
  }
  return {};
}

}  // namespace felsite::vk
