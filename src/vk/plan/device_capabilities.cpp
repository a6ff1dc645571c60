#include "vk/plan/device_capabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "vk/plan/feature_table.h"
#include "vk/plan/quirks.h"

namespace felsite::vk {
namespace {

using codegen::Capabilities;
using codegen::Feature;

constexpr std::uint32_t kSpirv13 = 0x0001'0300;
constexpr std::uint32_t kSpirv15 = 0x0001'0500;
constexpr std::uint32_t kSpirv16 = 0x0001'0600;

std::uint32_t spirv_version(std::uint32_t api_version) {
  if (api_version >= VK_API_VERSION_1_3) return kSpirv16;
  if (api_version >= VK_API_VERSION_1_2) return kSpirv15;
  return kSpirv13;
}

codegen::DeviceLimits limits_of(const SnapshotLimits& limits) {
  return {
      .workgroup_size = limits.workgroup_size,
      .workgroup_invocations = limits.workgroup_invocations,
      .workgroup_count = limits.workgroup_count,
      .shared_bytes = limits.shared_bytes,
      .storage_buffers = std::min(limits.storage_buffers_per_stage, limits.storage_buffers_per_set),
      .push_constant_bytes = limits.push_constant_bytes,
  };
}

struct FloatPromise {
  Feature feature;
  bool FloatControls::*promised;
};
constexpr std::array kFloatPromises{
    FloatPromise{Feature::PreserveSpecials32, &FloatControls::preserve_specials32},
    FloatPromise{Feature::PreserveSpecials64, &FloatControls::preserve_specials64},
    FloatPromise{Feature::RoundToEven32, &FloatControls::round_to_even32},
    FloatPromise{Feature::RoundToEven64, &FloatControls::round_to_even64},
};

struct SubgroupOperations {
  Feature feature;
  VkSubgroupFeatureFlagBits operations;
};
constexpr std::array kSubgroupOperations{
    SubgroupOperations{Feature::SubgroupBallot, VK_SUBGROUP_FEATURE_BALLOT_BIT},
    SubgroupOperations{Feature::SubgroupShuffle, VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
    SubgroupOperations{Feature::SubgroupArithmetic, VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
};

// Vulkan does not promise it; quirks.cpp lists the drivers that have it.
constexpr Feature kKnownByDriver = Feature::LinearSubgroups;

consteval bool every_feature_has_a_source() {
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const auto feature = static_cast<Feature>(i);
    const auto sources =
        (depends_on_features(feature) ? 1 : 0) +
        std::ranges::count(kFloatPromises, feature, &FloatPromise::feature) +
        std::ranges::count(kSubgroupOperations, feature, &SubgroupOperations::feature) +
        (feature == kKnownByDriver ? 1 : 0);
    if (sources != 1) return false;
  }
  return true;
}
static_assert(every_feature_has_a_source(), "no table, or more than one, says who has a feature");

}  // namespace

Capabilities capabilities_of(const DeviceSnapshot& snapshot) {
  Capabilities result;
  const auto set = [&](Feature feature, bool present) {
    result.features.set(static_cast<std::size_t>(feature), present);
  };
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const auto feature = static_cast<Feature>(i);
    set(feature, has_needs_of(snapshot.features, feature));
  }
  // An atomic on a type that modules cannot use is useless.
  if (!result.has(Feature::Int64)) {
    result = result.without(Feature::Atomics64).without(Feature::SharedAtomics64);
  }
  for (const FloatPromise& row : kFloatPromises) {
    set(row.feature, snapshot.float_controls.*row.promised);
  }
  const SubgroupFacts& subgroups = snapshot.subgroups;
  // If the size is impossible, nothing else about subgroups is trusted.
  const bool has_size = std::has_single_bit(subgroups.size) && subgroups.size <= 128;
  const bool in_compute = has_size && (subgroups.stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  for (const SubgroupOperations& row : kSubgroupOperations) {
    set(row.feature, in_compute && (subgroups.operations & row.operations) != 0);
  }

  result.spirv_version = spirv_version(snapshot.api_version);
  result.subgroup_size = has_size ? subgroups.size : 1;
  result.limits = limits_of(snapshot.limits);
  for (const Quirk& quirk : quirks()) {
    if (quirk.applies(snapshot)) quirk.apply(result);
  }
  return result;
}

std::vector<std::string> excess_of(const Capabilities& mask, const Capabilities& found) {
  std::vector<std::string> excess;
  for (std::size_t i = 0; i < codegen::kFeatureCount; ++i) {
    const auto feature = static_cast<Feature>(i);
    if (mask.has(feature) && !found.has(feature)) {
      excess.push_back(fmt::format("feature {}", info(feature).name));
    }
  }
  const auto at_most = [&](std::string_view what, std::uint64_t asked, std::uint64_t available) {
    if (asked > available) excess.push_back(fmt::format("{} {} of {}", what, asked, available));
  };
  if (mask.spirv_version > found.spirv_version) {
    excess.push_back(fmt::format("SPIR-V 1.{} instead of 1.{}", mask.spirv_version >> 8 & 0xFF,
                                 found.spirv_version >> 8 & 0xFF));
  }
  const bool uses_subgroups = mask.has(Feature::SubgroupBallot) ||
                              mask.has(Feature::SubgroupShuffle) ||
                              mask.has(Feature::SubgroupArithmetic);
  if (uses_subgroups && mask.subgroup_size != found.subgroup_size) {
    excess.push_back(
        fmt::format("subgroup size {} instead of {}", mask.subgroup_size, found.subgroup_size));
  }
  const bool ignores_budget =
      found.loop_budget != 0 && (mask.loop_budget == 0 || mask.loop_budget > found.loop_budget);
  if (found.folds_float_zeros && !mask.folds_float_zeros) {
    excess.push_back("float zeros left to a driver that folds them");
  }
  if (ignores_budget) {
    excess.push_back(
        fmt::format("loop budget {} instead of {}", mask.loop_budget, found.loop_budget));
  }
  for (std::size_t axis = 0; axis < 3; ++axis) {
    at_most(fmt::format("workgroup size on {}", "xyz"[axis]), mask.limits.workgroup_size[axis],
            found.limits.workgroup_size[axis]);
    at_most(fmt::format("workgroup count on {}", "xyz"[axis]), mask.limits.workgroup_count[axis],
            found.limits.workgroup_count[axis]);
  }
  at_most("workgroup invocations", mask.limits.workgroup_invocations,
          found.limits.workgroup_invocations);
  at_most("shared bytes", mask.limits.shared_bytes, found.limits.shared_bytes);
  at_most("storage buffers", mask.limits.storage_buffers, found.limits.storage_buffers);
  at_most("push constant bytes", mask.limits.push_constant_bytes, found.limits.push_constant_bytes);
  return excess;
}

OptionalFeatures features_for(const DeviceSnapshot& snapshot, const Capabilities& mask,
                              const RuntimeFeatures& runtime) {
  struct IsWanted {
    const Capabilities& mask;
    const RuntimeFeatures& runtime;
    bool operator()(WhereFound) const { return true; }
    bool operator()(Feature feature) const { return mask.has(feature); }
    bool operator()(RuntimeFeature feature) const { return has(runtime, feature); }
  };
  OptionalFeatures on = snapshot.features;
  for (const FeatureRow& row : kFeatureTable) {
    on.*row.feature &= std::visit(IsWanted{mask, runtime}, row.user);
  }
  return on;
}

}  // namespace felsite::vk
