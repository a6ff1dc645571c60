// Optional features that the runtime uses, not the kernels, and how a mask turns them off.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "felsite/error.h"
#include "vk/plan/device_snapshot.h"

namespace felsite::vk {

// Each can be masked off; the path without it gives the same bytes.
enum class RuntimeFeature : std::uint8_t {
  TimelineSemaphores,
  Synchronization2,
  PushDescriptors,
  InPlaceMemory,  // device memory that the host writes and reads itself, instead of staging
  InPlaceReads,   // reading it is fast as well, because it goes through the host's cache
  TransferQueue,
  ExternalHostMemory,
  MemoryBudget,
  ConditionalRendering,  // the device skips dispatches if a word is zero
};
inline constexpr std::size_t kRuntimeFeatureCount =
    static_cast<std::size_t>(RuntimeFeature::ConditionalRendering) + 1;
using RuntimeFeatures = std::bitset<kRuntimeFeatureCount>;

struct RuntimeFeatureInfo {
  RuntimeFeature feature;
  std::string_view name;  // in masks
  std::string_view means;
};
const RuntimeFeatureInfo& info(RuntimeFeature feature);

inline bool has(const RuntimeFeatures& features, RuntimeFeature feature) {
  return features[static_cast<std::size_t>(feature)];
}

// What the device has. TransferQueue is a queue family that only copies.
RuntimeFeatures runtime_features_of(const DeviceSnapshot& device);

// A mask is one list for kernels and runtime; this splits it. `all` and `none` apply to both.
struct SplitMask {
  std::string for_kernels;  // the rest, as codegen::apply_mask takes it
  RuntimeFeatures on;       // the features of the device that the list leaves on
  RuntimeFeatures asked;    // named, and not turned off again by a later entry
};
// Here `all` is what the device has: unlike a kernel's feature, none of these changes what can run.
SplitMask split_mask(std::string_view list, const RuntimeFeatures& found);

// Adds the names of runtime features to the fix of an error of codegen::apply_mask.
Error with_runtime_names(Error error);

}  // namespace felsite::vk
