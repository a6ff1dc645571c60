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

// Which device to open: by position, part of its name, or UUID (empty: the best), and under which
// mask. A mask is a list as for codegen::apply_mask, which may also name runtime features.
struct DeviceWish {
  std::string device{};
  std::string mask{};
  // What the mask starts from, instead of all that the device has. Only this can set limits.
  std::optional<codegen::Capabilities> capabilities{};
};

struct DevicePlan {
  std::size_t device = 0;  // position among the snapshots
  std::uint32_t compute_family = 0;
  // The family of a separate queue for copies, if there is one and something is staged; absent:
  // copies run on the compute queue. With the mask entry `transfer_queue` on a device without such
  // a family it is the compute family, and the queue is the compute queue, so that the path can be
  // tested anywhere.
  std::optional<std::uint32_t> transfer_family;
  OptionalFeatures features;  // to turn on
  RuntimeFeatures runtime;
  codegen::Capabilities capabilities;  // the mask that programs are lowered under
  std::vector<std::string> extensions;
  MemoryStrategy memory;
  std::vector<std::string> quirks;
  std::vector<std::string> notes;  // why it is planned this way, one sentence each
  // A warning for the user; empty: none. It says that software is used because no hardware of the
  // machine can be, unless the wish names the device.
  std::string warning;

  bool has(RuntimeFeature feature) const { return vk::has(runtime, feature); }
};

// Whether each device would be chosen, and why or why not, in the order of the snapshots.
struct DeviceVerdict {
  bool usable = false;  // if it is asked for
  bool chosen = false;
  std::string reason;
};
std::vector<DeviceVerdict> judge_devices(std::span<const DeviceSnapshot> devices,
                                         const DeviceWish& wish);

// How this one would be opened, whatever the wish says about devices; it must be usable.
Result<DevicePlan> plan_opening(const DeviceSnapshot& device, const DeviceWish& wish);

Result<DevicePlan> plan_device(std::span<const DeviceSnapshot> devices, const DeviceWish& wish);

}  // namespace felsite::vk
