// How bytes are moved to a device and back: in place or by staging, decided from its memory types
// alone.
#pragma once

#include <string>

#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// A dispatch may import an input of the caller instead of copying it. For smaller inputs a copy is
// faster.
inline constexpr std::uint64_t kMinImportedBytes = std::uint64_t{1} << 20;

struct MemoryStrategy {
  bool writes_in_place = false;  // buffers are mapped, uploads are plain copies by the host
  bool reads_in_place = false;   // the same for downloads; false where such reads are slow
  std::string why;
};

// The fastest strategy for the device's memory.
MemoryStrategy memory_strategy(const DeviceSnapshot& device);

}  // namespace felsite::vk
