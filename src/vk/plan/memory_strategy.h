// How bytes get to a device and back: in place or by staging, decided from its memory types alone.
#pragma once

#include <string>

#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// A dispatch may work on an input of the caller where it lies. Less is copied in the time that an
// import takes.
inline constexpr std::uint64_t kLeastImportedBytes = std::uint64_t{1} << 20;

struct MemoryStrategy {
  bool writes_in_place = false;  // buffers are mapped, uploads are plain copies by the host
  bool reads_in_place = false;   // and so are downloads; not where reading them is slow
  std::string why;
};

// What the device's memory is best at.
MemoryStrategy memory_strategy(const DeviceSnapshot& device);

}  // namespace felsite::vk
