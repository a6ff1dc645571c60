// The Vulkan functions that the hand-written peers call, from the loader, the instance and the
// device themselves: the peers share nothing with Felsite.
#pragma once

#include <vulkan/vulkan.h>

#define FELSITE_RAW_INSTANCE_FUNCTIONS(of)                                                      \
  of(vkDestroyInstance) of(vkEnumeratePhysicalDevices) of(vkEnumerateDeviceExtensionProperties) \
      of(vkGetPhysicalDeviceMemoryProperties) of(vkCreateDevice) of(vkGetDeviceProcAddr)

#define FELSITE_RAW_DEVICE_FUNCTIONS(of)                                                           \
  of(vkDestroyDevice) of(vkGetDeviceQueue) of(vkCreateBuffer) of(vkDestroyBuffer)                  \
      of(vkGetBufferMemoryRequirements) of(vkAllocateMemory) of(vkFreeMemory) of(vkMapMemory) of(  \
          vkBindBufferMemory) of(vkCreateDescriptorSetLayout) of(vkDestroyDescriptorSetLayout)     \
          of(vkCreatePipelineLayout) of(vkDestroyPipelineLayout) of(vkCreateShaderModule) of(      \
              vkDestroyShaderModule) of(vkCreateComputePipelines) of(vkDestroyPipeline)            \
              of(vkCreatePipelineCache) of(vkDestroyPipelineCache) of(vkGetPipelineCacheData) of(  \
                  vkCreateDescriptorPool) of(vkDestroyDescriptorPool) of(vkAllocateDescriptorSets) \
                  of(vkUpdateDescriptorSets) of(vkCreateCommandPool) of(vkDestroyCommandPool)      \
                      of(vkAllocateCommandBuffers) of(vkBeginCommandBuffer) of(vkEndCommandBuffer) \
                          of(vkCmdBindPipeline) of(vkCmdBindDescriptorSets) of(vkCmdPushConstants) \
                              of(vkCmdDispatch) of(vkCmdPipelineBarrier) of(vkCmdFillBuffer)       \
                                  of(vkCreateFence) of(vkDestroyFence) of(vkWaitForFences)         \
                                      of(vkResetFences) of(vkQueueSubmit)                          \
                                          of(vkCmdBeginConditionalRenderingEXT)                    \
                                              of(vkCmdEndConditionalRenderingEXT)

namespace felsite::bench {

#define FELSITE_RAW_MEMBER(name) PFN_##name name = nullptr;
struct RawInstanceFunctions {
  FELSITE_RAW_INSTANCE_FUNCTIONS(FELSITE_RAW_MEMBER)
};
struct RawDeviceFunctions {
  FELSITE_RAW_DEVICE_FUNCTIONS(FELSITE_RAW_MEMBER)
};
#undef FELSITE_RAW_MEMBER

// Of the Vulkan loader, which is opened with the first call and stays; null where there is none.
PFN_vkGetInstanceProcAddr raw_loader();
RawInstanceFunctions raw_instance_functions(VkInstance instance);
RawDeviceFunctions raw_device_functions(VkDevice device, PFN_vkGetDeviceProcAddr from);

}  // namespace felsite::bench
