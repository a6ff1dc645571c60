// The functions of one device that Felsite and its allocator call, and no others: one that is used
// and not listed does not compile.
#pragma once

#include <vulkan/vulkan.h>

// One a line, and sorted.
// clang-format off
// Of Vulkan 1.1, so that each device has them, and of extensions that keep their own names.
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

// Of later versions of Vulkan. A device older than the version that took an extension over has them
// by the names of the extension, with KHR behind; callers know one name.
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

// Null where the device lacks what brings the function.
struct DeviceFunctions {
#define FELSITE_MEMBER(name) PFN_##name name = nullptr;
  FELSITE_DEVICE_FUNCTIONS(FELSITE_MEMBER)
  FELSITE_LATER_DEVICE_FUNCTIONS(FELSITE_MEMBER)
#undef FELSITE_MEMBER
};

DeviceFunctions load_device_functions(VkDevice device, PFN_vkGetDeviceProcAddr from);

}  // namespace felsite::vk
