#include "felsite/capabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/in_order.h"

namespace felsite::codegen {
namespace {

constexpr std::array<FeatureInfo, kFeatureCount> kFeatures{{
    {Feature::Int64, "int64", "shaderInt64"},
    {Feature::Float64, "float64", "shaderFloat64"},
    {Feature::Storage8, "storage8", "storageBuffer8BitAccess"},
    {Feature::Storage16, "storage16", "storageBuffer16BitAccess"},
    {Feature::Atomics64, "atomics64", "shaderBufferInt64Atomics"},
    {Feature::SharedAtomics64, "shared_atomics64", "shaderSharedInt64Atomics"},
    {Feature::FloatAtomicAdd, "float_atomic_add", "shaderBufferFloat32AtomicAdd"},
    {Feature::SharedFloatAtomicAdd, "shared_float_atomic_add", "shaderSharedFloat32AtomicAdd"},
    {Feature::MemoryModel, "memory_model", "vulkanMemoryModel"},
    {Feature::SubgroupBallot, "subgroup_ballot", "VK_SUBGROUP_FEATURE_BALLOT_BIT"},
    {Feature::SubgroupShuffle, "subgroup_shuffle", "VK_SUBGROUP_FEATURE_SHUFFLE_BIT"},
    {Feature::SubgroupArithmetic, "subgroup_arithmetic", "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT"},
    {Feature::LinearSubgroups, "linear_subgroups",
     "subgroups of consecutive invocations; known of a driver, not promised by Vulkan"},
    {Feature::RobustAccess2, "robust_access2", "robustBufferAccess2 and nullDescriptor"},
    {Feature::PreserveSpecials32, "preserve_specials32", "shaderSignedZeroInfNanPreserveFloat32"},
    {Feature::PreserveSpecials64, "preserve_specials64", "shaderSignedZeroInfNanPreserveFloat64"},
    {Feature::RoundToEven32, "round_to_even32", "shaderRoundingModeRTEFloat32"},
    {Feature::RoundToEven64, "round_to_even64", "shaderRoundingModeRTEFloat64"},
}};
static_assert(base::in_order(kFeatures, &FeatureInfo::feature));

Error bad_entry(std::string_view entry) {
  std::string names;
  for (const FeatureInfo& feature : kFeatures) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", feature.name);
  }
  return base::bad_inputs(
      fmt::format("The mask has an entry `{}` that means nothing.", entry),
      fmt::format("use all, none, spirv=1.3 to spirv=1.6, subgroup=N, the quirks "
                  "loop_budget=N and folds_float_zeros, or "
                  "a feature, with - in front to take it away: {}.",
                  names));
}

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool apply_setting(Capabilities& mask, std::string_view name, std::string_view text) {
  if (name == "spirv") {
    if (text.size() != 3 || !text.starts_with("1.") || text[2] < '3' || text[2] > '6') return false;
    mask.spirv_version = 0x0001'0000u | static_cast<std::uint32_t>(text[2] - '0') << 8;
    return true;
  }
  const auto value = number(text);
  if (!value) return false;
  if (name == "subgroup" && *value >= 1 && *value <= 128) {
    mask.subgroup_size = *value;
    return true;
  }
  if (name == "loop_budget") {
    mask.loop_budget = *value;
    return true;
  }
  return false;
}

bool apply_entry(Capabilities& mask, std::string_view entry) {
  if (entry == "folds_float_zeros" || entry == "-folds_float_zeros") {
    mask.folds_float_zeros = !entry.starts_with('-');
    return true;
  }
  if (entry == "all") {
    mask.features.set();
    return true;
  }
  if (entry == "none") {
    mask.features.reset();
    return true;
  }
  if (const auto equals = entry.find('='); equals != std::string_view::npos) {
    return apply_setting(mask, entry.substr(0, equals), entry.substr(equals + 1));
  }
  const bool off = entry.starts_with('-');
  const auto feature = feature_named(off ? entry.substr(1) : entry);
  if (!feature) return false;
  mask = off ? mask.without(*feature) : mask.with(*feature);
  return true;
}

}  // namespace

const FeatureInfo& info(Feature feature) { return kFeatures[static_cast<std::size_t>(feature)]; }

std::optional<Feature> feature_named(std::string_view name) {
  const auto found = std::ranges::find(kFeatures, name, &FeatureInfo::name);
  if (found == kFeatures.end()) return std::nullopt;
  return found->feature;
}

Capabilities Capabilities::with(Feature feature) const {
  Capabilities changed = *this;
  changed.features.set(static_cast<std::size_t>(feature));
  return changed;
}

Capabilities Capabilities::without(Feature feature) const {
  Capabilities changed = *this;
  changed.features.reset(static_cast<std::size_t>(feature));
  return changed;
}

Capabilities no_capabilities() {
  Capabilities mask;
  mask.subgroup_size = 32;
  mask.limits = {.workgroup_size = {1024, 1024, 64},
                 .workgroup_invocations = 1024,
                 .workgroup_count = {65535, 65535, 65535},
                 .shared_bytes = 49152,
                 .storage_buffers = 64,
                 .push_constant_bytes = 128};
  return mask;
}

Capabilities all_capabilities() {
  Capabilities mask = no_capabilities();
  mask.features.set();
  return mask;
}

Result<Capabilities> apply_mask(Capabilities mask, std::string_view list) {
  return base::guarded([&]() -> Result<Capabilities> {
    while (!list.empty()) {
      const std::size_t comma = std::min(list.find(','), list.size());
      const std::string_view entry = list.substr(0, comma);
      if (!apply_entry(mask, entry)) return std::unexpected(bad_entry(entry));
      list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return mask;
  });
}

}  // namespace felsite::codegen
