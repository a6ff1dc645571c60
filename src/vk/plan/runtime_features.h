// What the runtime, not the kernels, uses where a device has it, and how a mask takes it away.
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
  InPlaceReads,   // that reading it is fast as well: not where the host's cache is not used
  TransferQueue,
  ExternalHostMemory,
  MemoryBudget,
  ConditionalRendering,  // dispatches that the device skips where a word is zero
};
inline constexpr std::size_t kRuntimeFeatureCount =
    static_cast<std::size_t>(RuntimeFeature::ConditionalRendering) + 1;
using RuntimeFeatures = std::bitset<kRuntimeFeatureCount>;

struct RuntimeFeatureInfo {
  RuntimeFeature feature;
  std::string_view name;  // as the mask takes it
  std::string_view means;
};
const RuntimeFeatureInfo& info(RuntimeFeature feature);

inline bool has(const RuntimeFeatures& features, RuntimeFeature feature) {
  return features[static_cast<std::size_t>(feature)];
}

// What the device has. TransferQueue is a queue family for copies alone.
RuntimeFeatures runtime_features_of(const DeviceSnapshot& device);

// A mask is one list for kernels and runtime; this parts it. `all` and `none` count for both.
struct SplitMask {
  std::string for_kernels;  // the rest, as codegen::apply_mask takes it
  RuntimeFeatures on;       // what the list leaves of what the device has
  RuntimeFeatures asked;    // by name, and not taken away again by a later entry
};
// Here `all` is what the device has: unlike a kernel's feature, none of these changes what can run.
SplitMask split_mask(std::string_view list, const RuntimeFeatures& found);

// An error of codegen::apply_mask, with the names that a list may hold besides in its fix.
Error with_runtime_names(Error error);

}  // namespace felsite::vk
