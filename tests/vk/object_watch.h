// Stands between the library and the driver, and notes which objects are made and which of them are
// given a name.
#pragma once

#include <vulkan/vulkan.h>

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vk/instance/instance_functions.h"

namespace felsite::test {

// Handles are unique among those that are alive, and only among those of one kind.
class ObjectWatch {
 public:
  void clear() {
    const std::lock_guard lock(mutex_);
    unnamed_.clear();
    nameless_.clear();
    makers_.clear();
  }
  void made(const char* maker, VkObjectType type, std::uint64_t handle) {
    const std::lock_guard lock(mutex_);
    makers_.insert(maker);
    const auto [place, is_new] = unnamed_.try_emplace({type, handle}, maker);
    if (!is_new) nameless_.push_back(place->second);  // gone without a name
  }
  void named(const VkDebugUtilsObjectNameInfoEXT& info) {
    const std::lock_guard lock(mutex_);
    unnamed_.erase({info.objectType, info.objectHandle});
    const bool is_empty = info.pObjectName == nullptr || *info.pObjectName == '\0';
    if (is_empty || info.objectHandle == 0) nameless_.emplace_back("an empty name, or of nothing");
  }
  // By the functions that made them.
  std::vector<std::string> nameless() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> all = nameless_;
    for (const auto& [object, maker] : unnamed_) all.push_back(maker);
    return all;
  }
  // The functions that made something.
  std::set<std::string> makers() {
    const std::lock_guard lock(mutex_);
    return makers_;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<VkObjectType, std::uint64_t>, std::string> unnamed_;
  std::vector<std::string> nameless_;
  std::set<std::string> makers_;
};
inline ObjectWatch& object_watch() {
  static ObjectWatch watch;
  return watch;
}

template <class Handle>
void note_made(const char* maker, VkObjectType type, std::uint32_t count, const Handle* handles) {
  for (std::uint32_t i = 0; i < count; ++i) {
    object_watch().made(maker, type, reinterpret_cast<std::uint64_t>(handles[i]));
  }
}

// A stand-in for one function of a device that makes objects; `Kind` tells them apart.
template <VkObjectType Kind, class Function>
struct Maker;

// As most of them are: (device, info, allocator, handle out).
template <VkObjectType Kind, class Info, class Handle>
struct Maker<Kind,
             VkResult(VKAPI_PTR*)(VkDevice, const Info*, const VkAllocationCallbacks*, Handle*)> {
  inline static const char* name = nullptr;
  inline static VkResult(VKAPI_PTR* real)(VkDevice, const Info*, const VkAllocationCallbacks*,
                                          Handle*) = nullptr;
  static VkResult VKAPI_PTR call(VkDevice device, const Info* info,
                                 const VkAllocationCallbacks* allocator, Handle* handle) {
    const VkResult result = real(device, info, allocator, handle);
    if (result == VK_SUCCESS) note_made(name, Kind, 1, handle);
    return result;
  }
};
template <VkObjectType Kind>
struct Maker<Kind, PFN_vkCreateComputePipelines> {
  inline static const char* name = nullptr;
  inline static PFN_vkCreateComputePipelines real = nullptr;
  static VkResult VKAPI_PTR call(VkDevice device, VkPipelineCache cache, std::uint32_t count,
                                 const VkComputePipelineCreateInfo* infos,
                                 const VkAllocationCallbacks* allocator, VkPipeline* pipelines) {
    const VkResult result = real(device, cache, count, infos, allocator, pipelines);
    if (result == VK_SUCCESS) note_made(name, Kind, count, pipelines);
    return result;
  }
};
template <VkObjectType Kind>
struct Maker<Kind, PFN_vkAllocateCommandBuffers> {
  inline static const char* name = nullptr;
  inline static PFN_vkAllocateCommandBuffers real = nullptr;
  static VkResult VKAPI_PTR call(VkDevice device, const VkCommandBufferAllocateInfo* info,
                                 VkCommandBuffer* commands) {
    const VkResult result = real(device, info, commands);
    if (result == VK_SUCCESS) note_made(name, Kind, info->commandBufferCount, commands);
    return result;
  }
};
template <VkObjectType Kind>
struct Maker<Kind, PFN_vkAllocateDescriptorSets> {
  inline static const char* name = nullptr;
  inline static PFN_vkAllocateDescriptorSets real = nullptr;
  static VkResult VKAPI_PTR call(VkDevice device, const VkDescriptorSetAllocateInfo* info,
                                 VkDescriptorSet* sets) {
    const VkResult result = real(device, info, sets);
    if (result == VK_SUCCESS) note_made(name, Kind, info->descriptorSetCount, sets);
    return result;
  }
};
template <VkObjectType Kind>
struct Maker<Kind, PFN_vkGetDeviceQueue> {
  inline static const char* name = nullptr;
  inline static PFN_vkGetDeviceQueue real = nullptr;
  static void VKAPI_PTR call(VkDevice device, std::uint32_t family, std::uint32_t index,
                             VkQueue* queue) {
    real(device, family, index, queue);
    note_made(name, Kind, 1, queue);
  }
};

struct WatchedFunction {
  const char* name;
  // Takes the real function and gives the one to call instead.
  PFN_vkVoidFunction (*replace)(const char* name, PFN_vkVoidFunction real);
};
template <VkObjectType Kind, class Function>
constexpr WatchedFunction watched(const char* function) {
  return {function, [](const char* name, PFN_vkVoidFunction real) {
            using Stand = Maker<Kind, Function>;
            Stand::name = name;
            Stand::real = reinterpret_cast<Function>(real);
            return reinterpret_cast<PFN_vkVoidFunction>(&Stand::call);
          }};
}
#define FELSITE_WATCHED(function, kind) watched<VK_OBJECT_TYPE_##kind, PFN_##function>(#function)
inline constexpr std::array kWatchedFunctions{
    FELSITE_WATCHED(vkGetDeviceQueue, QUEUE),
    FELSITE_WATCHED(vkAllocateMemory, DEVICE_MEMORY),
    FELSITE_WATCHED(vkAllocateCommandBuffers, COMMAND_BUFFER),
    FELSITE_WATCHED(vkAllocateDescriptorSets, DESCRIPTOR_SET),
    FELSITE_WATCHED(vkCreateBuffer, BUFFER),
    FELSITE_WATCHED(vkCreateCommandPool, COMMAND_POOL),
    FELSITE_WATCHED(vkCreateComputePipelines, PIPELINE),
    FELSITE_WATCHED(vkCreateDescriptorPool, DESCRIPTOR_POOL),
    FELSITE_WATCHED(vkCreateDescriptorSetLayout, DESCRIPTOR_SET_LAYOUT),
    FELSITE_WATCHED(vkCreateFence, FENCE),
    FELSITE_WATCHED(vkCreatePipelineCache, PIPELINE_CACHE),
    FELSITE_WATCHED(vkCreatePipelineLayout, PIPELINE_LAYOUT),
    FELSITE_WATCHED(vkCreateQueryPool, QUERY_POOL),
    FELSITE_WATCHED(vkCreateSemaphore, SEMAPHORE),
    FELSITE_WATCHED(vkCreateShaderModule, SHADER_MODULE),
};
#undef FELSITE_WATCHED

// Called in place of a function that makes objects and is not in the table. It says so and fails,
// whatever its arguments are.
inline VkResult VKAPI_PTR make_unwatched() {
  object_watch().made("a function that kWatchedFunctions lacks", VK_OBJECT_TYPE_UNKNOWN, 0);
  return VK_ERROR_INITIALIZATION_FAILED;
}

// The devices that are opened from now on, and all that they make.
inline void watch_objects(vk::InstanceFunctions& functions) {
  static PFN_vkGetDeviceProcAddr get_function = nullptr;
  static PFN_vkCreateDevice create_device = nullptr;
  get_function = functions.get_device_proc_addr;
  create_device = functions.create_device;
  functions.create_device = [](VkPhysicalDevice physical, const VkDeviceCreateInfo* info,
                               const VkAllocationCallbacks* allocator, VkDevice* device) {
    const VkResult result = create_device(physical, info, allocator, device);
    if (result == VK_SUCCESS) note_made("vkCreateDevice", VK_OBJECT_TYPE_DEVICE, 1, device);
    return result;
  };
  functions.get_device_proc_addr = [](VkDevice device, const char* name) -> PFN_vkVoidFunction {
    const PFN_vkVoidFunction real = get_function(device, name);
    if (real == nullptr) return real;
    for (const WatchedFunction& function : kWatchedFunctions) {
      if (std::string_view(function.name) == name) return function.replace(function.name, real);
    }
    const std::string_view text(name);
    const bool makes = text.starts_with("vkCreate") || text.starts_with("vkAllocate") ||
                       text.starts_with("vkGetDeviceQueue");
    return makes ? reinterpret_cast<PFN_vkVoidFunction>(&make_unwatched) : real;
  };
}

}  // namespace felsite::test
