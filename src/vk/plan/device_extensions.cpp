#include "vk/plan/device_extensions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "vk/plan/feature_table.h"

namespace felsite::vk {
namespace {

// Extensions without a feature.
struct PlainExtension {
  const char* name;
  std::uint32_t core_version;          // since which there is no need to turn it on
  std::optional<RuntimeFeature> user;  // absent: turned on wherever a device has it
};
constexpr std::array kPlainExtensions{
    // Allows modules to declare the float controls.
    PlainExtension{VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2, std::nullopt},
    PlainExtension{VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, kNeverCore,
                   RuntimeFeature::PushDescriptors},
    PlainExtension{VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, kNeverCore,
                   RuntimeFeature::ExternalHostMemory},
    PlainExtension{VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, kNeverCore, RuntimeFeature::MemoryBudget},
    // A device that has it, such as MoltenVK, requires that it is turned on.
    PlainExtension{kPortabilitySubset, kNeverCore, std::nullopt},
};

}  // namespace

std::vector<std::string> extensions_for(const DeviceSnapshot& device,
                                        const OptionalFeatures& features,
                                        const RuntimeFeatures& runtime) {
  std::vector<std::string> names;
  const auto turn_on = [&](const char* name, std::uint32_t core_version) {
    if (device.api_version >= core_version || !device.has_extension(name)) return;
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  };
  for (const FeatureRow& row : kFeatureTable) {
    if (features.*row.feature) turn_on(row.word.in.extension, row.word.in.core_version);
  }
  for (const PlainExtension& row : kPlainExtensions) {
    if (!row.user || has(runtime, *row.user)) turn_on(row.name, row.core_version);
  }
  return names;
}

}  // namespace felsite::vk
