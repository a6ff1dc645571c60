// What is known about single drivers beyond what they report: bugs, and properties that Vulkan does
// not promise.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "felsite/capabilities.h"
#include "felsite/device_profile.h"
#include "vk/plan/device_snapshot.h"
#include "vk/plan/runtime_features.h"

namespace felsite::vk {

struct Quirk {
  std::string_view name;
  std::string_view why;
  bool (*applies)(const DeviceSnapshot& device);
  void (*apply)(codegen::Capabilities& capabilities);
  // A feature that the runtime does not use there, unless the mask names it.
  std::optional<RuntimeFeature> avoids{};
  // What the profile must not promise there.
  bool DeviceProfile::*denies = nullptr;
};

std::span<const Quirk> quirks();
// Mesa's software device from release 25 on.
bool is_lavapipe_25(const DeviceSnapshot& device);
// Adds the quirks of this driver to the profile, and clears what they deny.
void note_quirks(const DeviceSnapshot& device, DeviceProfile& profile);

}  // namespace felsite::vk
