#include "vk/plan/feature_chain.h"

namespace felsite::vk {

template <class Struct>
void FeatureChain::link(const DeviceSnapshot& device, Struct& next, VkStructureType type,
                        const char* extension, std::uint32_t core_version) {
  if (!device.offers(extension, core_version)) return;
  next.sType = type;
  tail_->pNext = reinterpret_cast<VkBaseOutStructure*>(&next);
  tail_ = tail_->pNext;
}

FeatureChain::FeatureChain(const DeviceSnapshot& device) {
  core_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  tail_ = reinterpret_cast<VkBaseOutStructure*>(&core_);
  link(device, storage16_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
       VK_KHR_16BIT_STORAGE_EXTENSION_NAME, VK_API_VERSION_1_1);
  link(device, storage8_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
       VK_KHR_8BIT_STORAGE_EXTENSION_NAME, VK_API_VERSION_1_2);
  link(device, atomics64_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES,
       VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME, VK_API_VERSION_1_2);
  link(device, float_atomics_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
       VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME, kNeverCore);
  link(device, memory_model_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
       VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME, VK_API_VERSION_1_2);
  link(device, subgroup_types_,
       VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,
       VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME, VK_API_VERSION_1_2);
  link(device, robustness2_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT,
       VK_EXT_ROBUSTNESS_2_EXTENSION_NAME, kNeverCore);
  link(device, maintenance4_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES,
       VK_KHR_MAINTENANCE_4_EXTENSION_NAME, VK_API_VERSION_1_3);
  link(device, timeline_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
       VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME, VK_API_VERSION_1_2);
  link(device, synchronization2_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
       VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME, VK_API_VERSION_1_3);
  link(device, conditional_, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
       VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME, kNeverCore);
}

OptionalFeatures FeatureChain::read() const {
  return {
      .int64 = core_.features.shaderInt64 == VK_TRUE,
      .float64 = core_.features.shaderFloat64 == VK_TRUE,
      .storage8 = storage8_.storageBuffer8BitAccess == VK_TRUE,
      .storage16 = storage16_.storageBuffer16BitAccess == VK_TRUE,
      .buffer_atomics64 = atomics64_.shaderBufferInt64Atomics == VK_TRUE,
      .shared_atomics64 = atomics64_.shaderSharedInt64Atomics == VK_TRUE,
      .buffer_float_atomic_add = float_atomics_.shaderBufferFloat32AtomicAdd == VK_TRUE,
      .shared_float_atomic_add = float_atomics_.shaderSharedFloat32AtomicAdd == VK_TRUE,
      .memory_model = memory_model_.vulkanMemoryModel == VK_TRUE,
      .memory_model_device_scope = memory_model_.vulkanMemoryModelDeviceScope == VK_TRUE,
      .subgroup_extended_types = subgroup_types_.shaderSubgroupExtendedTypes == VK_TRUE,
      .robust_access = core_.features.robustBufferAccess == VK_TRUE,
      .robust_access2 =
          robustness2_.robustBufferAccess2 == VK_TRUE && robustness2_.nullDescriptor == VK_TRUE,
      .maintenance4 = maintenance4_.maintenance4 == VK_TRUE,
      .timeline_semaphore = timeline_.timelineSemaphore == VK_TRUE,
      .synchronization2 = synchronization2_.synchronization2 == VK_TRUE,
      .conditional_rendering = conditional_.conditionalRendering == VK_TRUE,
  };
}

void FeatureChain::write(const OptionalFeatures& features) {
  core_.features.shaderInt64 = features.int64;
  core_.features.shaderFloat64 = features.float64;
  storage8_.storageBuffer8BitAccess = features.storage8;
  storage16_.storageBuffer16BitAccess = features.storage16;
  atomics64_.shaderBufferInt64Atomics = features.buffer_atomics64;
  atomics64_.shaderSharedInt64Atomics = features.shared_atomics64;
  float_atomics_.shaderBufferFloat32AtomicAdd = features.buffer_float_atomic_add;
  float_atomics_.shaderSharedFloat32AtomicAdd = features.shared_float_atomic_add;
  memory_model_.vulkanMemoryModel = features.memory_model;
  memory_model_.vulkanMemoryModelDeviceScope = features.memory_model_device_scope;
  subgroup_types_.shaderSubgroupExtendedTypes = features.subgroup_extended_types;
  core_.features.robustBufferAccess = features.robust_access;
  robustness2_.robustBufferAccess2 = features.robust_access2;
  robustness2_.nullDescriptor = features.robust_access2;
  maintenance4_.maintenance4 = features.maintenance4;
  timeline_.timelineSemaphore = features.timeline_semaphore;
  synchronization2_.synchronization2 = features.synchronization2;
  conditional_.conditionalRendering = features.conditional_rendering;
}

}  // namespace felsite::vk
