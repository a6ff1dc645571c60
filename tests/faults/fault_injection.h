// Makes Vulkan fail: stands between the library and the driver in volk's tables, counts every call
// and every object, and lets one chosen call fail.
#pragma once

#include <volk.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "vk/instance_functions.h"

namespace felsite::test {

enum class FaultKind : std::uint8_t { HostMemory, DeviceMemory, Lost, Timeout, Broken };

inline VkResult result_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::HostMemory:
      return VK_ERROR_OUT_OF_HOST_MEMORY;
    case FaultKind::DeviceMemory:
      return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    case FaultKind::Lost:
      return VK_ERROR_DEVICE_LOST;
    case FaultKind::Timeout:
      return VK_TIMEOUT;
    case FaultKind::Broken:
      return VK_ERROR_UNKNOWN;
  }
  return VK_ERROR_UNKNOWN;
}

// What is made to fail, and what was seen. One for the process: driver functions have no state.
struct FaultState {
  std::atomic<bool> counting = false;
  std::atomic<int> calls = 0;     // that can fail, since `begin`
  std::atomic<int> fail_at = -1;  // the call to fail; -1: none
  std::atomic<FaultKind> kind = FaultKind::HostMemory;
  std::atomic<bool> failed = false;
  std::atomic<bool> stays_lost = false;  // after a fault of kind Lost every call fails so
  std::atomic<int> alive = 0;            // objects made and not destroyed
  std::mutex mutex;
  std::string failed_function;
  std::map<std::string, int, std::less<>> alive_by_kind;
  std::vector<std::string> log;  // of the calls that can fail, in order
  std::vector<std::vector<FaultKind>> kinds;
};
inline FaultState& fault_state() {
  static FaultState state;
  return state;
}

// What a call can fail with, by Vulkan's own list of return codes.
inline std::vector<FaultKind> kinds_of(std::string_view function) {
  using enum FaultKind;
  if (function == "vkWaitForFences" || function == "vkWaitSemaphores") {
    return {HostMemory, Lost, Timeout};
  }
  if (function == "vkQueueSubmit" || function == "vkGetQueryPoolResults" ||
      function == "vkGetFenceStatus" || function == "vkGetSemaphoreCounterValue") {
    return {DeviceMemory, Lost};
  }
  if (function == "vkCreateDevice") return {HostMemory, Lost};
  if (function == "vkCreateComputePipelines") return {DeviceMemory, Broken};
  return {HostMemory, DeviceMemory};
}

// The result that the call has to give, or VK_SUCCESS to go on.
inline VkResult before_call(std::string_view function) {
  FaultState& state = fault_state();
  if (state.stays_lost) {
    const std::vector<FaultKind> kinds = kinds_of(function);
    for (const FaultKind kind : kinds) {
      if (kind == FaultKind::Lost) return VK_ERROR_DEVICE_LOST;
    }
  }
  if (!state.counting) return VK_SUCCESS;
  {
    const std::lock_guard lock(state.mutex);
    if (state.fail_at < 0) {
      state.log.emplace_back(function);
      state.kinds.push_back(kinds_of(function));
    }
  }
  if (state.calls++ != state.fail_at) return VK_SUCCESS;
  // Not quite the same calls come each time, and no function gives what it cannot give.
  const std::vector<FaultKind> kinds = kinds_of(function);
  if (std::ranges::find(kinds, state.kind.load()) == kinds.end()) return VK_SUCCESS;
  state.failed = true;
  {
    const std::lock_guard lock(state.mutex);
    state.failed_function = function;
  }
  if (state.kind == FaultKind::Lost) state.stays_lost = true;
  return result_of(state.kind);
}

inline void after_call(std::string_view function, int made) {
  if (made == 0) return;
  FaultState& state = fault_state();
  state.alive += made;
  const std::lock_guard lock(state.mutex);
  std::string kind(function);
  for (const std::string_view verb : {"vkCreate", "vkDestroy", "vkAllocate", "vkFree"}) {
    if (kind.starts_with(verb)) kind.erase(0, verb.size());
  }
  if (kind == "ComputePipelines") kind = "Pipeline";
  state.alive_by_kind[kind] += made;
}

// Nothing runs on a lost device, but this one is well: what is freed because of the fault must not
// be in use.
inline void let_work_end(const VolkDeviceTable& table, VkDevice device) {
  table.vkDeviceWaitIdle(device);
}
inline void let_work_end(const VolkDeviceTable& table, VkQueue queue) {
  table.vkQueueWaitIdle(queue);
}
inline void let_work_end(const VolkDeviceTable&, VkCommandBuffer) {}

template <auto Member, class Table, class R, class... Args>
void replace(Table& table, R (VKAPI_PTR* Table::*)(Args...), const char* name, int made) {
  static R(VKAPI_PTR * original)(Args...) = nullptr;
  static const char* function = nullptr;
  static int objects = 0;
  static Table functions{};
  original = table.*Member;
  functions.vkDeviceWaitIdle = table.vkDeviceWaitIdle;
  functions.vkQueueWaitIdle = table.vkQueueWaitIdle;
  function = name;
  objects = made;
  table.*Member = [](Args... args) -> R {
    if constexpr (std::is_void_v<R>) {
      // Destroying nothing is allowed, and destroys nothing.
      const auto handles = std::tuple(args...);
      bool is_null = false;
      if constexpr (sizeof...(Args) == 3) is_null = std::get<1>(handles) == VK_NULL_HANDLE;
      original(args...);
      if (!is_null) after_call(function, objects);
    } else {
      const VkResult fault = before_call(function);
      if (fault == VK_ERROR_DEVICE_LOST) {
        let_work_end(functions, std::get<0>(std::tuple(args...)));
      }
      if (fault != VK_SUCCESS) return fault;
      const R result = original(args...);
      if (result == VK_SUCCESS) after_call(function, objects);
      return result;
    }
  };
}

template <auto Member, class R, class... Args>
void replace_in_instance(vk::InstanceFunctions& table,
                         R (VKAPI_PTR* vk::InstanceFunctions::*)(Args...), const char* name) {
  static R(VKAPI_PTR * original)(Args...) = nullptr;
  static const char* function = nullptr;
  original = table.*Member;
  function = name;
  table.*Member = [](Args... args) -> R {
    const VkResult fault = before_call(function);
    return fault != VK_SUCCESS ? fault : original(args...);
  };
}

// Every function of the device that can fail and that Felsite or the allocator calls, and every one
// that destroys something.
inline void intercept_device(VolkDeviceTable& table) {
#define FELSITE_INTERCEPT(function, made) \
  replace<&VolkDeviceTable::function>(table, &VolkDeviceTable::function, #function, made)
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
  if (table.vkWaitSemaphores != nullptr) FELSITE_INTERCEPT(vkWaitSemaphores, 0);
  if (table.vkGetSemaphoreCounterValue != nullptr) {
    FELSITE_INTERCEPT(vkGetSemaphoreCounterValue, 0);
  }
  if (table.vkGetMemoryHostPointerPropertiesEXT != nullptr) {
    FELSITE_INTERCEPT(vkGetMemoryHostPointerPropertiesEXT, 0);
  }
  FELSITE_INTERCEPT(vkDestroyDevice, -1);
#undef FELSITE_INTERCEPT
  after_call("vkCreateDevice", +1);
}

// As above for the functions of the instance, which is then to stay open.
inline void intercept_instance(vk::InstanceFunctions& instance) {
  using Functions = vk::InstanceFunctions;
#define FELSITE_INTERCEPT(member, function) \
  replace_in_instance<&Functions::member>(instance, &Functions::member, #function)
  FELSITE_INTERCEPT(create_device, vkCreateDevice);
  FELSITE_INTERCEPT(enumerate_physical_devices, vkEnumeratePhysicalDevices);
  FELSITE_INTERCEPT(enumerate_device_extensions, vkEnumerateDeviceExtensionProperties);
#undef FELSITE_INTERCEPT
}

}  // namespace felsite::test
