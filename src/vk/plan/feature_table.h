// The optional features of Vulkan that Felsite uses: one row each, with all that is known about it.
// Reading a device, opening one, adopting a caller's, and choosing extensions and capabilities are
// loops over this table, so a new feature is a member of OptionalFeatures and a row.
#pragma once

#include <vulkan/vulkan.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <variant>

#include "felsite/capabilities.h"
#include "vk/plan/device_snapshot.h"
#include "vk/plan/runtime_features.h"

namespace felsite::vk {

// A struct of a feature chain, and when a device supports it: by its extension, or from a version
// on.
struct FeatureStruct {
  VkStructureType type;
  const char* extension;  // empty: only versions have it
  std::uint32_t core_version;
};

// Declared for the structs that the table names, so a row of any other does not compile.
template <class Struct>
inline constexpr FeatureStruct kFeatureStruct = Struct::is_missing_here;
// Its struct is the head of every chain.
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceFeatures>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, "", VK_API_VERSION_1_0};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceVulkan11Features>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, "", VK_API_VERSION_1_1};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceVulkan12Features>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, "", VK_API_VERSION_1_2};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceVulkan13Features>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, "", VK_API_VERSION_1_3};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDevice16BitStorageFeatures>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES, VK_KHR_16BIT_STORAGE_EXTENSION_NAME,
    VK_API_VERSION_1_1};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDevice8BitStorageFeatures>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES, VK_KHR_8BIT_STORAGE_EXTENSION_NAME,
    VK_API_VERSION_1_2};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceShaderAtomicInt64Features>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES,
    VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME, VK_API_VERSION_1_2};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
    VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, kNeverCore};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceVulkanMemoryModelFeatures>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
    VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,
    VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME, VK_API_VERSION_1_2};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceRobustness2FeaturesEXT>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT, VK_EXT_ROBUSTNESS_2_EXTENSION_NAME,
    kNeverCore};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceMaintenance4Features>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES, VK_KHR_MAINTENANCE_4_EXTENSION_NAME,
    VK_API_VERSION_1_3};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceTimelineSemaphoreFeatures>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
    VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_API_VERSION_1_2};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceSynchronization2Features>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
    VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME, VK_API_VERSION_1_3};
template <>
inline constexpr FeatureStruct kFeatureStruct<VkPhysicalDeviceConditionalRenderingFeaturesEXT>{
    VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
    VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME, kNeverCore};

// The word of a feature in a struct of a chain.
struct FeatureWord {
  FeatureStruct in;
  std::size_t struct_bytes;
  VkBool32& (*of)(VkBaseOutStructure& link);  // `link` must be that struct
};

template <class Struct, VkBool32 Struct::*Member>
constexpr FeatureWord make_word() {
  if constexpr (std::is_same_v<Struct, VkPhysicalDeviceFeatures>) {
    using Head = VkPhysicalDeviceFeatures2;
    return {kFeatureStruct<Struct>, sizeof(Head), [](VkBaseOutStructure& link) -> VkBool32& {
              return reinterpret_cast<Head&>(link).features.*Member;
            }};
  } else {
    return {kFeatureStruct<Struct>, sizeof(Struct), [](VkBaseOutStructure& link) -> VkBool32& {
              return reinterpret_cast<Struct&>(link).*Member;
            }};
  }
}
template <auto Member>
inline constexpr FeatureWord kWord =
    []<class Struct>(VkBool32 Struct::*) { return make_word<Struct, Member>(); }(Member);

// The struct of a Vulkan version does not have the feature.
inline constexpr FeatureWord kInNoVersion{{VK_STRUCTURE_TYPE_MAX_ENUM, "", kNeverCore}, 0, nullptr};

// What a feature is turned on for.
struct WhereFound {};  // nothing that a mask could name: wherever a device has it
using FeatureUser = std::variant<WhereFound, codegen::Feature, RuntimeFeature>;

enum class FeatureRole : std::uint8_t {
  Needed,   // its user does not work without it; of several such features it needs all
  Welcome,  // turned on with its user where the device has it
};

struct FeatureRow {
  bool OptionalFeatures::*feature;
  FeatureWord word;          // in the struct that has this feature and those of its kind
  FeatureWord version_word;  // in the struct of the Vulkan version that made it core
  FeatureUser user;
  FeatureRole role;
};

// Rows of one extension are adjacent.
inline constexpr std::array kFeatureTable{
    FeatureRow{&OptionalFeatures::int64, kWord<&VkPhysicalDeviceFeatures::shaderInt64>,
               kInNoVersion, codegen::Feature::Int64, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::float64, kWord<&VkPhysicalDeviceFeatures::shaderFloat64>,
               kInNoVersion, codegen::Feature::Float64, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::storage8,
               kWord<&VkPhysicalDevice8BitStorageFeatures::storageBuffer8BitAccess>,
               kWord<&VkPhysicalDeviceVulkan12Features::storageBuffer8BitAccess>,
               codegen::Feature::Storage8, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::storage16,
               kWord<&VkPhysicalDevice16BitStorageFeatures::storageBuffer16BitAccess>,
               kWord<&VkPhysicalDeviceVulkan11Features::storageBuffer16BitAccess>,
               codegen::Feature::Storage16, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::buffer_atomics64,
               kWord<&VkPhysicalDeviceShaderAtomicInt64Features::shaderBufferInt64Atomics>,
               kWord<&VkPhysicalDeviceVulkan12Features::shaderBufferInt64Atomics>,
               codegen::Feature::Atomics64, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::shared_atomics64,
               kWord<&VkPhysicalDeviceShaderAtomicInt64Features::shaderSharedInt64Atomics>,
               kWord<&VkPhysicalDeviceVulkan12Features::shaderSharedInt64Atomics>,
               codegen::Feature::SharedAtomics64, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::buffer_float_atomic_add,
               kWord<&VkPhysicalDeviceShaderAtomicFloatFeaturesEXT::shaderBufferFloat32AtomicAdd>,
               kInNoVersion, codegen::Feature::FloatAtomicAdd, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::shared_float_atomic_add,
               kWord<&VkPhysicalDeviceShaderAtomicFloatFeaturesEXT::shaderSharedFloat32AtomicAdd>,
               kInNoVersion, codegen::Feature::SharedFloatAtomicAdd, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::memory_model,
               kWord<&VkPhysicalDeviceVulkanMemoryModelFeatures::vulkanMemoryModel>,
               kWord<&VkPhysicalDeviceVulkan12Features::vulkanMemoryModel>,
               codegen::Feature::MemoryModel, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::memory_model_device_scope,
               kWord<&VkPhysicalDeviceVulkanMemoryModelFeatures::vulkanMemoryModelDeviceScope>,
               kWord<&VkPhysicalDeviceVulkan12Features::vulkanMemoryModelDeviceScope>,
               codegen::Feature::MemoryModel, FeatureRole::Welcome},
    FeatureRow{
        &OptionalFeatures::subgroup_extended_types,
        kWord<&VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures::shaderSubgroupExtendedTypes>,
        kWord<&VkPhysicalDeviceVulkan12Features::shaderSubgroupExtendedTypes>, WhereFound{},
        FeatureRole::Welcome},
    // Robust access costs time and is turned on for its second version alone: without that
    // guarantee kernels test their bounds themselves.
    FeatureRow{&OptionalFeatures::robust_access,
               kWord<&VkPhysicalDeviceFeatures::robustBufferAccess>, kInNoVersion,
               codegen::Feature::RobustAccess2, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::robust_access2,
               kWord<&VkPhysicalDeviceRobustness2FeaturesEXT::robustBufferAccess2>, kInNoVersion,
               codegen::Feature::RobustAccess2, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::null_descriptor,
               kWord<&VkPhysicalDeviceRobustness2FeaturesEXT::nullDescriptor>, kInNoVersion,
               codegen::Feature::RobustAccess2, FeatureRole::Needed},
    FeatureRow{
        &OptionalFeatures::maintenance4, kWord<&VkPhysicalDeviceMaintenance4Features::maintenance4>,
        kWord<&VkPhysicalDeviceVulkan13Features::maintenance4>, WhereFound{}, FeatureRole::Welcome},
    FeatureRow{&OptionalFeatures::timeline_semaphore,
               kWord<&VkPhysicalDeviceTimelineSemaphoreFeatures::timelineSemaphore>,
               kWord<&VkPhysicalDeviceVulkan12Features::timelineSemaphore>,
               RuntimeFeature::TimelineSemaphores, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::synchronization2,
               kWord<&VkPhysicalDeviceSynchronization2Features::synchronization2>,
               kWord<&VkPhysicalDeviceVulkan13Features::synchronization2>,
               RuntimeFeature::Synchronization2, FeatureRole::Needed},
    FeatureRow{&OptionalFeatures::conditional_rendering,
               kWord<&VkPhysicalDeviceConditionalRenderingFeaturesEXT::conditionalRendering>,
               kInNoVersion, RuntimeFeature::ConditionalRendering, FeatureRole::Needed},
};

// Every member has one row: they are booleans and nothing else.
consteval bool names_every_feature() {
  OptionalFeatures seen;
  for (const FeatureRow& row : kFeatureTable) {
    if (seen.*row.feature) return false;
    seen.*row.feature = true;
  }
  return kFeatureTable.size() == sizeof(OptionalFeatures);
}
static_assert(names_every_feature(), "a feature has no row, or more than one");

// A caller may turn on what a version made core in the struct of that version.
consteval bool names_version_structs() {
  for (const FeatureRow& row : kFeatureTable) {
    if (row.word.in.core_version == VK_API_VERSION_1_0) continue;
    if (row.version_word.in.core_version != row.word.in.core_version) return false;
  }
  return true;
}
static_assert(names_version_structs(),
              "the word of the feature's core version is missing or wrong");

// Whether the device supports the struct of this feature, so that a chain may contain it.
inline bool offers(const DeviceSnapshot& device, const FeatureRow& row) {
  return device.offers(row.word.in.extension, row.word.in.core_version);
}

// For a User of codegen::Feature or RuntimeFeature.
template <class User>
constexpr bool is_for(const FeatureRow& row, User user) {
  // g++ 12 under -fsanitize=undefined takes no get_if in a constant expression.
  return std::holds_alternative<User>(row.user) && std::get<User>(row.user) == user;
}
template <class User>
constexpr bool depends_on_features(User user) {
  return std::ranges::any_of(kFeatureTable, [&](const auto& row) { return is_for(row, user); });
}
template <class User>
constexpr bool has_needs_of(const OptionalFeatures& features, User user) {
  return depends_on_features(user) && std::ranges::all_of(kFeatureTable, [&](const auto& row) {
           return !is_for(row, user) || row.role == FeatureRole::Welcome || features.*row.feature;
         });
}

}  // namespace felsite::vk
