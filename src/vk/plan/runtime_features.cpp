#include "vk/plan/runtime_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "base/in_order.h"
#include "vk/plan/feature_table.h"
#include "vk/plan/memory_strategy.h"

namespace felsite::vk {
namespace {

// The largest alignment of imported memory that Vulkan allows.
constexpr std::uint64_t kLargestPage = 65536;

constexpr std::array<RuntimeFeatureInfo, kRuntimeFeatureCount> kFeatures{{
    {RuntimeFeature::TimelineSemaphores, "timeline_semaphores", "timelineSemaphore"},
    {RuntimeFeature::Synchronization2, "synchronization2", "synchronization2"},
    {RuntimeFeature::PushDescriptors, "push_descriptors", "VK_KHR_push_descriptor"},
    {RuntimeFeature::InPlaceMemory, "in_place_memory",
     "device memory that the host writes, and reads where that is fast, without staging"},
    {RuntimeFeature::InPlaceReads, "in_place_reads",
     "of in_place_memory, the reading: not where it goes past the host's cache"},
    {RuntimeFeature::TransferQueue, "transfer_queue",
     "copies on a separate queue; the compute queue does them where a device has none"},
    {RuntimeFeature::ExternalHostMemory, "external_host_memory", "VK_EXT_external_memory_host"},
    {RuntimeFeature::MemoryBudget, "memory_budget", "VK_EXT_memory_budget"},
    {RuntimeFeature::ConditionalRendering, "conditional_rendering",
     "VK_EXT_conditional_rendering: the device itself skips steps of a sequence"},
}};
static_assert(base::in_order(kFeatures, &RuntimeFeatureInfo::feature));

std::optional<RuntimeFeature> runtime_feature_named(std::string_view name) {
  const auto found = std::ranges::find(kFeatures, name, &RuntimeFeatureInfo::name);
  if (found == kFeatures.end()) return std::nullopt;
  return found->feature;
}

}  // namespace

const RuntimeFeatureInfo& info(RuntimeFeature feature) {
  return kFeatures[static_cast<std::size_t>(feature)];
}

RuntimeFeatures runtime_features_of(const DeviceSnapshot& device) {
  const MemoryStrategy memory = memory_strategy(device);
  const auto is_there = [&](RuntimeFeature feature) {
    switch (feature) {
      case RuntimeFeature::TimelineSemaphores:
      case RuntimeFeature::Synchronization2:
      case RuntimeFeature::ConditionalRendering:
        return has_needs_of(device.features, feature);
      case RuntimeFeature::PushDescriptors:
        return device.has_extension(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME) &&
               device.limits.push_descriptors != 0;
      case RuntimeFeature::InPlaceMemory:
        return memory.writes_in_place || memory.reads_in_place;
      case RuntimeFeature::InPlaceReads:
        return memory.reads_in_place;
      case RuntimeFeature::TransferQueue:
        return transfer_family(device).has_value();
      case RuntimeFeature::ExternalHostMemory:
        return device.has_extension(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME) &&
               std::has_single_bit(device.limits.host_pointer_alignment) &&
               device.limits.host_pointer_alignment <= kLargestPage;
      case RuntimeFeature::MemoryBudget:
        return device.has_extension(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    }
    return false;
  };
  RuntimeFeatures found;
  for (std::size_t i = 0; i < kRuntimeFeatureCount; ++i) {
    found.set(i, is_there(static_cast<RuntimeFeature>(i)));
  }
  return found;
}

SplitMask split_mask(std::string_view list, const RuntimeFeatures& found) {
  SplitMask split{.for_kernels = {}, .on = found, .asked = {}};
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view entry = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    const bool off = entry.starts_with('-');
    if (const auto feature = runtime_feature_named(off ? entry.substr(1) : entry)) {
      split.on.set(static_cast<std::size_t>(*feature), !off);
      split.asked.set(static_cast<std::size_t>(*feature), !off);
      continue;
    }
    if (entry == "all" || entry == "none") {
      split.on = entry == "all" ? found : RuntimeFeatures{};
      split.asked.reset();
    }
    if (!split.for_kernels.empty()) split.for_kernels += ',';
    split.for_kernels += entry;
  }
  return split;
}

Error with_runtime_names(Error error) {
  std::vector<std::string_view> names;
  for (const RuntimeFeatureInfo& row : kFeatures) names.push_back(row.name);
  error.fix += fmt::format(" Of the runtime there are: {}.", fmt::join(names, ", "));
  return error;
}

}  // namespace felsite::vk
