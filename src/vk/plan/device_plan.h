// Which device to open and how, decided from snapshots alone: a pure function, tested with devices
// that do not exist.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "felsite/capabilities.h"
#include "felsite/error.h"
#include "vk/plan/device_snapshot.h"
#include "vk/plan/memory_strategy.h"
#include "vk/plan/runtime_features.h"

namespace felsite::vk {

// What to look for: a device by position, part of its name or UUID (empty: the best), changed by a
// mask. A mask is a list as codegen::apply_mask takes it, which may also name runtime features.
struct DeviceWish {
  std::string device{};
  std::string mask{};
  // What the mask changes, instead of all that the device has: for limits, which no list names.
  std::optional<codegen::Capabilities> capabilities{};
};

struct DevicePlan {
  std::size_t device = 0;  // position among the snapshots
  std::uint32_t compute_family = 0;
  // The family of the queue for copies; absent: the runtime copies on the compute queue and knows
  // no other. A family of its own, where there is one and something is staged. With the mask entry
  // `transfer_queue` on a device that has none, it is the compute family, and the queue the compute
  // queue itself: the path can then be tested anywhere.
  std::optional<std::uint32_t> transfer_family;
  OptionalFeatures features;  // to turn on
  RuntimeFeatures runtime;
  codegen::Capabilities capabilities;  // the mask that programs are lowered under
  std::vector<std::string> extensions;
  MemoryStrategy memory;
  std::vector<std::string> quirks;
  std::vector<std::string> notes;  // why it is planned this way, one sentence each
  // What whoever opens it should be told without asking; empty: nothing. Software that stands in
  // for hardware which is there and cannot be used, unless the wish names it.
  std::string warning;

  bool has(RuntimeFeature feature) const { return vk::has(runtime, feature); }
};

// Whether each device would be taken, and why or why not, in the order of the snapshots.
struct DeviceVerdict {
  bool usable = false;  // where it is asked for
  bool chosen = false;
  std::string reason;
};
std::vector<DeviceVerdict> judge_devices(std::span<const DeviceSnapshot> devices,
                                         const DeviceWish& wish);

// How this one would be opened, whatever the wish says about devices; it must be usable.
Result<DevicePlan> plan_opening(const DeviceSnapshot& device, const DeviceWish& wish);

Result<DevicePlan> plan_device(std::span<const DeviceSnapshot> devices, const DeviceWish& wish);

}  // namespace felsite::vk
