#include "vk/plan/memory_strategy.h"

#include <fmt/format.h>

#include <algorithm>

namespace felsite::vk {
namespace {

constexpr VkMemoryPropertyFlags kInPlace =
    VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT;
// Types for other purposes, which the allocator does not use either.
constexpr VkMemoryPropertyFlags kSpecial =
    VK_MEMORY_PROPERTY_PROTECTED_BIT | VK_MEMORY_PROPERTY_LAZILY_ALLOCATED_BIT |
    VK_MEMORY_PROPERTY_DEVICE_COHERENT_BIT_AMD | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD;

std::uint64_t mebibytes(std::uint64_t bytes) { return bytes >> 20; }

}  // namespace

MemoryStrategy memory_strategy(const DeviceSnapshot& device) {
  std::uint64_t local_bytes = 0;  // size of the largest device-local heap
  for (const MemoryHeap& heap : device.memory_heaps) {
    if ((heap.flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
      local_bytes = std::max(local_bytes, heap.bytes);
    }
  }
  bool cached = false;
  std::uint64_t window_bytes = 0;
  for (const MemoryType& type : device.memory_types) {
    if ((type.flags & kInPlace) != kInPlace || (type.flags & kSpecial) != 0) continue;
    if (type.heap >= device.memory_heaps.size()) continue;
    const std::uint64_t bytes = device.memory_heaps[type.heap].bytes;
    window_bytes = std::max(window_bytes, bytes);
    cached |= bytes >= local_bytes && (type.flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0;
  }
  if (window_bytes == 0) {
    return {.why = "The host sees none of the device's own memory, so bytes are staged."};
  }
  // A small window is for the driver's and other programs' short-lived data as well: buffers that
  // fill it would be moved to slow memory, or fail.
  if (window_bytes < local_bytes) {
    return {.why = fmt::format("The host sees {} MiB of the device's {} MiB only, so bytes are "
                               "staged.",
                               mebibytes(window_bytes), mebibytes(local_bytes))};
  }
  if (!cached) {
    return {.writes_in_place = true,
            .why =
                "The host sees all of the device's memory, but past its cache: it writes in "
                "place, and reads by staging."};
  }
  return {.writes_in_place = true,
          .reads_in_place = true,
          .why =
              "The host sees all of the device's memory, in its cache: it writes and reads in "
              "place."};
}

}  // namespace felsite::vk
