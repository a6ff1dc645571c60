#include "vk/plan/device_extensions.h"

#include <array>

namespace felsite::vk {
namespace {

struct Extension {
  const char* name;
  std::uint32_t core_version;  // since which there is no need to turn it on
  bool (*needed)(const OptionalFeatures& on, const RuntimeFeatures& runtime);
};

constexpr std::array kExtensions{
    Extension{VK_KHR_8BIT_STORAGE_EXTENSION_NAME, VK_API_VERSION_1_2,
              [](const auto& on, const auto&) { return on.storage8; }},
    Extension{
        VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME, VK_API_VERSION_1_2,
        [](const auto& on, const auto&) { return on.buffer_atomics64 || on.shared_atomics64; }},
    Extension{VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, kNeverCore,
              [](const auto& on, const auto&) {
                return on.buffer_float_atomic_add || on.shared_float_atomic_add;
              }},
    Extension{VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2,
              [](const auto& on, const auto&) { return on.memory_model; }},
    Extension{VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME, VK_API_VERSION_1_2,
              [](const auto& on, const auto&) { return on.subgroup_extended_types; }},
    Extension{VK_EXT_ROBUSTNESS_2_EXTENSION_NAME, kNeverCore,
              [](const auto& on, const auto&) { return on.robust_access2; }},
    Extension{VK_KHR_MAINTENANCE_4_EXTENSION_NAME, VK_API_VERSION_1_3,
              [](const auto& on, const auto&) { return on.maintenance4; }},
    // It has no features, only properties and what modules may then say.
    Extension{VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2,
              [](const auto&, const auto&) { return true; }},
    Extension{VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_API_VERSION_1_2,
              [](const auto& on, const auto&) { return on.timeline_semaphore; }},
    Extension{VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME, VK_API_VERSION_1_3,
              [](const auto& on, const auto&) { return on.synchronization2; }},
    Extension{VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, kNeverCore,
              [](const auto&, const auto& runtime) {
                return has(runtime, RuntimeFeature::PushDescriptors);
              }},
    Extension{VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME, kNeverCore,
              [](const auto&, const auto& runtime) {
                return has(runtime, RuntimeFeature::ExternalHostMemory);
              }},
    Extension{VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, kNeverCore,
              [](const auto&, const auto& runtime) {
                return has(runtime, RuntimeFeature::MemoryBudget);
              }},
    Extension{VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME, kNeverCore,
              [](const auto& on, const auto&) { return on.conditional_rendering; }},
    // A device that has it, such as MoltenVK, demands that it is turned on.
    Extension{kPortabilitySubset, kNeverCore, [](const auto&, const auto&) { return true; }},
};

}  // namespace

std::vector<std::string> extensions_for(const DeviceSnapshot& device,
                                        const OptionalFeatures& features,
                                        const RuntimeFeatures& runtime) {
  std::vector<std::string> names;
  for (const Extension& extension : kExtensions) {
    if (device.api_version >= extension.core_version) continue;
    if (device.has_extension(extension.name) && extension.needed(features, runtime)) {
      names.emplace_back(extension.name);
    }
  }
  return names;
}

}  // namespace felsite::vk
