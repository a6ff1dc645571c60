// What is known about single drivers beyond what they say about themselves: one table for what
// they do wrong, one for what they do well without a promise.
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
  // What the runtime leaves alone there, unless the mask asks for it by name.
  std::optional<RuntimeFeature> avoids{};
  // What the profile must not promise there, whatever else speaks for it.
  bool DeviceProfile::*denies = nullptr;
};

std::span<const Quirk> quirks();
// Those of this driver, into the profile, with what they deny.
void note_quirks(const DeviceSnapshot& device, DeviceProfile& profile);

}  // namespace felsite::vk
