#include "vk/plan/device_capabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

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

}  // namespace

Capabilities capabilities_of(const DeviceSnapshot& snapshot) {
  Capabilities result;
  const auto set = [&](Feature feature, bool present) {
    result.features.set(static_cast<std::size_t>(feature), present);
  };
  const OptionalFeatures& has = snapshot.features;
  set(Feature::Int64, has.int64);
  set(Feature::Float64, has.float64);
  set(Feature::Storage8, has.storage8);
  set(Feature::Storage16, has.storage16);
  // An atomic on a type that the module cannot have is of no use.
  set(Feature::Atomics64, has.int64 && has.buffer_atomics64);
  set(Feature::SharedAtomics64, has.int64 && has.shared_atomics64);
  set(Feature::FloatAtomicAdd, has.buffer_float_atomic_add);
  set(Feature::SharedFloatAtomicAdd, has.shared_float_atomic_add);
  set(Feature::MemoryModel, has.memory_model);
  set(Feature::RobustAccess2, has.robust_access && has.robust_access2);

  const FloatControls& floats = snapshot.float_controls;
  set(Feature::PreserveSpecials32, floats.preserve_specials32);
  set(Feature::PreserveSpecials64, floats.preserve_specials64);
  set(Feature::RoundToEven32, floats.round_to_even32);
  set(Feature::RoundToEven64, floats.round_to_even64);

  const SubgroupFacts& subgroups = snapshot.subgroups;
  // Where the size cannot be true, nothing else about subgroups is believed.
  const bool has_size = std::has_single_bit(subgroups.size) && subgroups.size <= 128;
  const bool in_compute = has_size && (subgroups.stages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  const auto offers = [&](VkSubgroupFeatureFlags operations) {
    return in_compute && (subgroups.operations & operations) == operations;
  };
  set(Feature::SubgroupBallot, offers(VK_SUBGROUP_FEATURE_BALLOT_BIT));
  set(Feature::SubgroupShuffle, offers(VK_SUBGROUP_FEATURE_SHUFFLE_BIT));
  set(Feature::SubgroupArithmetic, offers(VK_SUBGROUP_FEATURE_ARITHMETIC_BIT));

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
  OptionalFeatures on = snapshot.features;
  on.int64 = mask.has(Feature::Int64);
  on.float64 = mask.has(Feature::Float64);
  on.storage8 = mask.has(Feature::Storage8);
  on.storage16 = mask.has(Feature::Storage16);
  on.buffer_atomics64 = mask.has(Feature::Atomics64);
  on.shared_atomics64 = mask.has(Feature::SharedAtomics64);
  on.buffer_float_atomic_add = mask.has(Feature::FloatAtomicAdd);
  on.shared_float_atomic_add = mask.has(Feature::SharedFloatAtomicAdd);
  on.memory_model = mask.has(Feature::MemoryModel);
  on.memory_model_device_scope &= on.memory_model;
  on.robust_access = on.robust_access2 = mask.has(Feature::RobustAccess2);
  on.timeline_semaphore = has(runtime, RuntimeFeature::TimelineSemaphores);
  on.synchronization2 = has(runtime, RuntimeFeature::Synchronization2);
  on.conditional_rendering = has(runtime, RuntimeFeature::ConditionalRendering);
  return on;
}

}  // namespace felsite::vk
