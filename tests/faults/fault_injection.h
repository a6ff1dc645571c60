// Makes Vulkan fail: stands between the library and the driver in the functions of the device, of
// the instance and of the loader.
#pragma once

#include <tuple>
#include <type_traits>

#include "faults/fault_state.h"
#include "vk/device/device_functions.h"
#include "vk/instance/instance_functions.h"
#include "vk/instance/loader.h"

namespace felsite::test {

// Nothing runs on a lost device, but this one still works: what is freed because of the fault must
// not be in use.
struct IdleFunctions {
  PFN_vkDeviceWaitIdle device = nullptr;
  PFN_vkQueueWaitIdle queue = nullptr;
};
inline IdleFunctions& idle_functions() {
  static IdleFunctions functions;
  return functions;
}
template <class First>
void let_work_end(First first) {
  if constexpr (std::is_same_v<First, VkDevice>) idle_functions().device(first);
  if constexpr (std::is_same_v<First, VkQueue>) idle_functions().queue(first);
}

// A function that counts, fails if it has to, and else calls the real one. `Place` is where it is
// put, and distinguishes functions of the same type. `made`: objects, negative where it destroys.
template <auto Place, class R, class... Args>
auto stand_in(R(VKAPI_PTR* real)(Args...), const char* name, int made) -> R(VKAPI_PTR*)(Args...) {
  static R(VKAPI_PTR * original)(Args...) = nullptr;
  static const char* function = nullptr;
  static int objects = 0;
  R(VKAPI_PTR* const mine)
  (Args...) = [](Args... args) -> R {
    const auto all = std::tuple(args...);
    if constexpr (std::is_void_v<R>) {
      // Destroying nothing is allowed, and destroys nothing.
      bool is_null = false;
      if constexpr (sizeof...(Args) == 3) is_null = std::get<1>(all) == VK_NULL_HANDLE;
      original(args...);
      if (!is_null) after_call(function, objects);
    } else {
      const VkResult fault = before_call(function);
      if (fault == VK_ERROR_DEVICE_LOST) let_work_end(std::get<0>(all));
      if (fault != VK_SUCCESS) return fault;
      const R result = original(args...);
      if (result == VK_SUCCESS) after_call(function, objects);
      return result;
    }
  };
  if (real == nullptr || real == mine) return real;  // not there, or replaced already
  original = real;
  function = name;
  objects = made;
  if constexpr (!std::is_void_v<R>) {
    const std::lock_guard lock(fault_state().mutex);
    fault_state().injectable.emplace(name);
  }
  return mine;
}

// Every function of the device that can fail and that Felsite or the allocator calls, and every one
// that destroys something.
inline void intercept_device(vk::DeviceFunctions& table) {
  idle_functions() = {table.vkDeviceWaitIdle, table.vkQueueWaitIdle};
#define FELSITE_INTERCEPT(function, made) \
  table.function = stand_in<&vk::DeviceFunctions::function>(table.function, #function, made)
  FELSITE_INTERCEPT(vkCreateBuffer, +1);
  FELSITE_INTERCEPT(vkDestroyBuffer, -1);
  FELSITE_INTERCEPT(vkAllocateMemory, +1);
  FELSITE_INTERCEPT(vkFreeMemory, -1);
  FELSITE_INTERCEPT(vkCreateShaderModule, +1);
  FELSITE_INTERCEPT(vkDestroyShaderModule, -1);
  FELSITE_INTERCEPT(vkCreateDescriptorSetLayout, +1);
  FELSITE_INTERCEPT(vkDestroyDescriptorSetLayout, -1);
  FELSITE_INTERCEPT(vkCreatePipelineLayout, +1);
  FELSITE_INTERCEPT(vkDestroyPipelineLayout, -1);
  FELSITE_INTERCEPT(vkCreateComputePipelines, +1);
  FELSITE_INTERCEPT(vkDestroyPipeline, -1);
  FELSITE_INTERCEPT(vkCreatePipelineCache, +1);
  FELSITE_INTERCEPT(vkDestroyPipelineCache, -1);
  FELSITE_INTERCEPT(vkCreateDescriptorPool, +1);
  FELSITE_INTERCEPT(vkDestroyDescriptorPool, -1);
  FELSITE_INTERCEPT(vkCreateQueryPool, +1);
  FELSITE_INTERCEPT(vkDestroyQueryPool, -1);
  FELSITE_INTERCEPT(vkCreateCommandPool, +1);
  FELSITE_INTERCEPT(vkDestroyCommandPool, -1);
  FELSITE_INTERCEPT(vkCreateFence, +1);
  FELSITE_INTERCEPT(vkDestroyFence, -1);
  FELSITE_INTERCEPT(vkCreateSemaphore, +1);
  FELSITE_INTERCEPT(vkDestroySemaphore, -1);
  FELSITE_INTERCEPT(vkMapMemory, 0);
  FELSITE_INTERCEPT(vkFlushMappedMemoryRanges, 0);
  FELSITE_INTERCEPT(vkInvalidateMappedMemoryRanges, 0);
  FELSITE_INTERCEPT(vkBindBufferMemory, 0);
  FELSITE_INTERCEPT(vkBindBufferMemory2, 0);
  FELSITE_INTERCEPT(vkAllocateDescriptorSets, 0);
  FELSITE_INTERCEPT(vkAllocateCommandBuffers, 0);
  FELSITE_INTERCEPT(vkBeginCommandBuffer, 0);
  FELSITE_INTERCEPT(vkEndCommandBuffer, 0);
  FELSITE_INTERCEPT(vkResetCommandPool, 0);
  FELSITE_INTERCEPT(vkResetFences, 0);
  FELSITE_INTERCEPT(vkGetFenceStatus, 0);
  FELSITE_INTERCEPT(vkQueueSubmit, 0);
  FELSITE_INTERCEPT(vkWaitForFences, 0);
  FELSITE_INTERCEPT(vkGetQueryPoolResults, 0);
  FELSITE_INTERCEPT(vkGetPipelineCacheData, 0);
  FELSITE_INTERCEPT(vkMergePipelineCaches, 0);
  FELSITE_INTERCEPT(vkWaitSemaphores, 0);
  FELSITE_INTERCEPT(vkGetSemaphoreCounterValue, 0);
  FELSITE_INTERCEPT(vkGetMemoryHostPointerPropertiesEXT, 0);
  FELSITE_INTERCEPT(vkDestroyDevice, -1);
#undef FELSITE_INTERCEPT
  after_call("vkCreateDevice", +1);
}

// As above for the functions of the instance, which is then to stay open. Those that describe the
// device say what FaultState wants it to look like.
inline void intercept_instance(vk::InstanceFunctions& instance) {
  using Functions = vk::InstanceFunctions;
#define FELSITE_INTERCEPT(member, function) \
  instance.member = stand_in<&Functions::member>(instance.member, #function, 0)
  FELSITE_INTERCEPT(create_device, vkCreateDevice);
  FELSITE_INTERCEPT(enumerate_physical_devices, vkEnumeratePhysicalDevices);
  FELSITE_INTERCEPT(enumerate_device_extensions, vkEnumerateDeviceExtensionProperties);
  FELSITE_INTERCEPT(set_object_name, vkSetDebugUtilsObjectNameEXT);
#undef FELSITE_INTERCEPT
  static Functions real;
  const Functions found = instance;
  instance.properties2 = [](VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
    real.properties2(device, properties);
    for (std::uint32_t& most : properties->properties.limits.maxComputeWorkGroupCount) {
      most = std::min(most, fault_state().most_workgroups.load());
    }
  };
  instance.memory_properties = [](VkPhysicalDevice device, VkPhysicalDeviceMemoryProperties* all) {
    real.memory_properties(device, all);
    if (fault_state().is_coherent) return;
    for (VkMemoryType& type : all->memoryTypes) {
      type.propertyFlags &= ~static_cast<unsigned>(VK_MEMORY_PROPERTY_HOST_COHERENT_BIT);
    }
  };
  if (instance.properties2 != found.properties2) real = found;
}

// The functions of the loader, as long as this object lives. The loader must be open, and no
// instance.
class LoaderFaults {
 public:
  LoaderFaults() {
    using Functions = vk::LoaderFunctions;
    real();
    Functions& loader = vk::loader();
    loader.create_instance =
        stand_in<&Functions::create_instance>(loader.create_instance, "vkCreateInstance", +1);
    loader.enumerate_instance_extensions = stand_in<&Functions::enumerate_instance_extensions>(
        loader.enumerate_instance_extensions, "vkEnumerateInstanceExtensionProperties", 0);
    loader.enumerate_instance_layers = stand_in<&Functions::enumerate_instance_layers>(
        loader.enumerate_instance_layers, "vkEnumerateInstanceLayerProperties", 0);
    loader.enumerate_instance_version = stand_in<&Functions::enumerate_instance_version>(
        loader.enumerate_instance_version, "vkEnumerateInstanceVersion", 0);
    // What an instance needs before anybody could edit its functions comes through this one.
    loader.get_instance_proc_addr = [](VkInstance instance, const char* name) {
      return replaced(real().get_instance_proc_addr(instance, name), name);
    };
  }
  ~LoaderFaults() { vk::loader() = real(); }
  LoaderFaults(const LoaderFaults&) = delete;
  LoaderFaults& operator=(const LoaderFaults&) = delete;

 private:
  static const vk::LoaderFunctions& real() {
    static const vk::LoaderFunctions functions = vk::loader();
    return functions;
  }

  static PFN_vkVoidFunction replaced(PFN_vkVoidFunction found, std::string_view name) {
    using Functions = vk::InstanceFunctions;
    const auto put = [&]<auto Member, class Function>(Function, const char* function, int made) {
      return reinterpret_cast<PFN_vkVoidFunction>(
          stand_in<Member>(reinterpret_cast<Function>(found), function, made));
    };
    if (name == "vkCreateDebugUtilsMessengerEXT") {
      return put.operator()<&Functions::create_messenger>(PFN_vkCreateDebugUtilsMessengerEXT(),
                                                          "vkCreateDebugUtilsMessengerEXT", +1);
    }
    if (name == "vkDestroyDebugUtilsMessengerEXT") {
      return put.operator()<&Functions::destroy_messenger>(PFN_vkDestroyDebugUtilsMessengerEXT(),
                                                           "vkDestroyDebugUtilsMessengerEXT", -1);
    }
    if (name == "vkDestroyInstance") {
      return put.operator()<&Functions::destroy_instance>(PFN_vkDestroyInstance(),
                                                          "vkDestroyInstance", -1);
    }
    return found;
  }
};

}  // namespace felsite::test
