// Names of objects, and labels of the steps in a command buffer, for debuggers and validation
// layers. Without VK_EXT_debug_utils they cost nothing.
#pragma once

#include <concepts>
#include <string_view>

#include "vk/instance/instance.h"

namespace felsite::vk {

// The owner of an object, and its role if the owner has several of a kind. The two are joined only
// if somebody will read them.
struct ObjectName {
  template <std::convertible_to<std::string_view> Owner>
  ObjectName(const Owner& of, std::string_view which = {}) : owner(of), part(which) {}

  std::string_view owner;
  std::string_view part;
};

// What Vulkan and people call the object of a handle. Instances are missing: they have their
// application's name, and older loaders pass a wrong handle on if one is renamed (Vulkan-Loader,
// issue 1266).
struct ObjectKind {
  VkObjectType type;
  std::string_view noun;
};
constexpr ObjectKind kind_of(VkDevice) { return {VK_OBJECT_TYPE_DEVICE, "a device"}; }
constexpr ObjectKind kind_of(VkQueue) { return {VK_OBJECT_TYPE_QUEUE, "a queue"}; }
constexpr ObjectKind kind_of(VkDeviceMemory) { return {VK_OBJECT_TYPE_DEVICE_MEMORY, "memory"}; }
constexpr ObjectKind kind_of(VkBuffer) { return {VK_OBJECT_TYPE_BUFFER, "a buffer"}; }
constexpr ObjectKind kind_of(VkSemaphore) { return {VK_OBJECT_TYPE_SEMAPHORE, "a semaphore"}; }
constexpr ObjectKind kind_of(VkFence) { return {VK_OBJECT_TYPE_FENCE, "a fence"}; }
constexpr ObjectKind kind_of(VkQueryPool) { return {VK_OBJECT_TYPE_QUERY_POOL, "a query pool"}; }
constexpr ObjectKind kind_of(VkCommandPool) {
  return {VK_OBJECT_TYPE_COMMAND_POOL, "a command pool"};
}
constexpr ObjectKind kind_of(VkCommandBuffer) {
  return {VK_OBJECT_TYPE_COMMAND_BUFFER, "a command buffer"};
}
constexpr ObjectKind kind_of(VkShaderModule) {
  return {VK_OBJECT_TYPE_SHADER_MODULE, "a shader module"};
}
constexpr ObjectKind kind_of(VkDescriptorSetLayout) {
  return {VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, "a descriptor set layout"};
}
constexpr ObjectKind kind_of(VkDescriptorPool) {
  return {VK_OBJECT_TYPE_DESCRIPTOR_POOL, "a descriptor pool"};
}
constexpr ObjectKind kind_of(VkDescriptorSet) {
  return {VK_OBJECT_TYPE_DESCRIPTOR_SET, "a descriptor set"};
}
constexpr ObjectKind kind_of(VkPipelineLayout) {
  return {VK_OBJECT_TYPE_PIPELINE_LAYOUT, "a pipeline layout"};
}
constexpr ObjectKind kind_of(VkPipelineCache) {
  return {VK_OBJECT_TYPE_PIPELINE_CACHE, "a pipeline cache"};
}
constexpr ObjectKind kind_of(VkPipeline) { return {VK_OBJECT_TYPE_PIPELINE, "a pipeline"}; }

// Only Device::name calls it.
void name_object(const Instance& instance, VkDevice device, VkObjectType type, std::uint64_t handle,
                 const ObjectName& name);

// Whether command buffers of a queue family may have labels; those of a transfer-only family may
// not.
constexpr bool takes_labels(VkQueueFlags family) {
  return (family & (VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT)) != 0;
}

// Labels what is recorded between construction and destruction, if `wanted`.
class StepLabel {
 public:
  StepLabel(const Instance& instance, VkCommandBuffer commands, std::string_view name, bool wanted);
  ~StepLabel();
  StepLabel(const StepLabel&) = delete;
  StepLabel& operator=(const StepLabel&) = delete;

 private:
  const Instance& instance_;
  VkCommandBuffer commands_;
  bool open_;
};

}  // namespace felsite::vk
