// The functions of one device that Felsite and its allocator call. Using one that is not listed
// does not compile.
#pragma once

#include <vulkan/vulkan.h>

// One on each line, sorted.
// clang-format off
// Functions of Vulkan 1.1, which every device has, and of extensions that are not core.
#define FELSITE_DEVICE_FUNCTIONS(function) \
  function(vkAllocateCommandBuffers) \
  function(vkAllocateDescriptorSets) \
  function(vkAllocateMemory) \
  function(vkBeginCommandBuffer) \
  function(vkBindBufferMemory) \
  function(vkBindBufferMemory2) \
  function(vkBindImageMemory) \
  function(vkBindImageMemory2) \
  function(vkCmdBeginConditionalRenderingEXT) \
  function(vkCmdBindDescriptorSets) \
  function(vkCmdBindPipeline) \
  function(vkCmdCopyBuffer) \
  function(vkCmdDispatch) \
  function(vkCmdDispatchIndirect) \
  function(vkCmdEndConditionalRenderingEXT) \
  function(vkCmdFillBuffer) \
  function(vkCmdPipelineBarrier) \
  function(vkCmdPushConstants) \
  function(vkCmdPushDescriptorSetKHR) \
  function(vkCmdResetQueryPool) \
  function(vkCmdUpdateBuffer) \
  function(vkCmdWriteTimestamp) \
  function(vkCreateBuffer) \
  function(vkCreateCommandPool) \
  function(vkCreateComputePipelines) \
  function(vkCreateDescriptorPool) \
  function(vkCreateDescriptorSetLayout) \
  function(vkCreateFence) \
  function(vkCreateImage) \
  function(vkCreatePipelineCache) \
  function(vkCreatePipelineLayout) \
  function(vkCreateQueryPool) \
  function(vkCreateSemaphore) \
  function(vkCreateShaderModule) \
  function(vkDestroyBuffer) \
  function(vkDestroyCommandPool) \
  function(vkDestroyDescriptorPool) \
  function(vkDestroyDescriptorSetLayout) \
  function(vkDestroyDevice) \
  function(vkDestroyFence) \
  function(vkDestroyImage) \
  function(vkDestroyPipeline) \
  function(vkDestroyPipelineCache) \
  function(vkDestroyPipelineLayout) \
  function(vkDestroyQueryPool) \
  function(vkDestroySemaphore) \
  function(vkDestroyShaderModule) \
  function(vkDeviceWaitIdle) \
  function(vkEndCommandBuffer) \
  function(vkFlushMappedMemoryRanges) \
  function(vkFreeMemory) \
  function(vkGetBufferMemoryRequirements) \
  function(vkGetBufferMemoryRequirements2) \
  function(vkGetDeviceQueue) \
  function(vkGetFenceStatus) \
  function(vkGetImageMemoryRequirements) \
  function(vkGetImageMemoryRequirements2) \
  function(vkGetMemoryHostPointerPropertiesEXT) \
  function(vkGetPipelineCacheData) \
  function(vkGetQueryPoolResults) \
  function(vkInvalidateMappedMemoryRanges) \
  function(vkMapMemory) \
  function(vkMergePipelineCaches) \
  function(vkQueueSubmit) \
  function(vkQueueWaitIdle) \
  function(vkResetCommandPool) \
  function(vkResetFences) \
  function(vkUnmapMemory) \
  function(vkUpdateDescriptorSets) \
  function(vkWaitForFences)

// Functions of later versions of Vulkan. An older device has them by the name of the extension,
// which ends in KHR; here they have the core name only.
#define FELSITE_LATER_DEVICE_FUNCTIONS(function) \
  function(vkCmdPipelineBarrier2) \
  function(vkCmdWriteTimestamp2) \
  function(vkGetDeviceBufferMemoryRequirements) \
  function(vkGetDeviceImageMemoryRequirements) \
  function(vkGetSemaphoreCounterValue) \
  function(vkQueueSubmit2) \
  function(vkSignalSemaphore) \
  function(vkWaitSemaphores)
// clang-format on

namespace felsite::vk {

// A function is null if the device lacks its version or extension.
struct DeviceFunctions {
#define FELSITE_MEMBER(name) PFN_##name name = nullptr;
  FELSITE_DEVICE_FUNCTIONS(FELSITE_MEMBER)
  FELSITE_LATER_DEVICE_FUNCTIONS(FELSITE_MEMBER)
#undef FELSITE_MEMBER
};

DeviceFunctions load_device_functions(VkDevice device, PFN_vkGetDeviceProcAddr from);

}  // namespace felsite::vk
