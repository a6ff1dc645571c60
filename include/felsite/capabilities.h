// What a device can do, as plain data: the mask that a program is lowered for.
//
// Lowering may use every feature in the mask. A missing feature is lowered to something that gives
// the same bits, or the program is refused with the name of the feature. Masking a feature off is
// always allowed, so one device can stand in for weaker ones.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>

#include "felsite/error.h"
#include "felsite/extent.h"

namespace felsite::codegen {

enum class Feature : std::uint8_t {
  Int64,
  Float64,
  Storage8,
  Storage16,
  Atomics64,
  SharedAtomics64,
  FloatAtomicAdd,
  SharedFloatAtomicAdd,
  MemoryModel,
  SubgroupBallot,
  SubgroupShuffle,
  SubgroupArithmetic,
  LinearSubgroups,
  RobustAccess2,
  PreserveSpecials32,
  PreserveSpecials64,
  RoundToEven32,
  RoundToEven64,
};
inline constexpr std::size_t kFeatureCount = static_cast<std::size_t>(Feature::RoundToEven64) + 1;

struct FeatureInfo {
  Feature feature;
  std::string_view name;   // as `--mask` takes it, and as errors name it
  std::string_view means;  // what Vulkan calls it, or what it promises
};
const FeatureInfo& info(Feature feature);
std::optional<Feature> feature_named(std::string_view name);

// The limits that the module must keep. The defaults are what Vulkan guarantees on every device.
struct DeviceLimits {
  Extent3 workgroup_size{128, 128, 64};
  std::uint32_t workgroup_invocations = 128;
  Extent3 workgroup_count{65535, 65535, 65535};  // of a whole grid
  std::uint32_t shared_bytes = 16384;
  std::uint32_t storage_buffers = 4;
  std::uint32_t push_constant_bytes = 128;
};

struct Capabilities {
  std::bitset<kFeatureCount> features;
  std::uint32_t spirv_version = 0x0001'0300;  // as in a module's header: 1.3
  std::uint32_t subgroup_size = 1;
  // The driver silently stops all loops of an invocation after this many loop trips; 0: no limit.
  std::uint32_t loop_budget = 0;
  // The driver folds x + 0 to x and x * 0 to 0 when it sees the zero, whatever x is.
  bool folds_float_zeros = false;
  DeviceLimits limits;

  bool has(Feature feature) const { return features[static_cast<std::size_t>(feature)]; }
  Capabilities with(Feature feature) const;
  Capabilities without(Feature feature) const;
};

// A generous device with every feature and no quirk; `felsite spirv` lowers for it by default.
Capabilities all_capabilities();
// A Vulkan 1.1 device without optional features, with the limits of `all_capabilities`.
Capabilities no_capabilities();

// Changes a mask by a list such as "none,int64,-storage8,spirv=1.5,subgroup=8,loop_budget=65535".
// Entries apply from left to right: all, none, a feature, a removed feature, a number, or a quirk.
Result<Capabilities> apply_mask(Capabilities mask, std::string_view list);

}  // namespace felsite::codegen
