// What is made to fail, and what was seen: every call that can fail is counted, one of them is
// chosen, and every object that is made and destroyed is counted too.
#pragma once

#include <vulkan/vulkan.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace felsite::test {

enum class FaultKind : std::uint8_t {
  HostMemory,
  DeviceMemory,
  PoolMemory,
  Lost,
  Timeout,
  MapFailed,
  Incomplete,
  Broken
};

inline VkResult result_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::HostMemory:
      return VK_ERROR_OUT_OF_HOST_MEMORY;
    case FaultKind::DeviceMemory:
      return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    case FaultKind::PoolMemory:
      return VK_ERROR_OUT_OF_POOL_MEMORY;
    case FaultKind::Lost:
      return VK_ERROR_DEVICE_LOST;
    case FaultKind::Timeout:
      return VK_TIMEOUT;
    case FaultKind::MapFailed:
      return VK_ERROR_MEMORY_MAP_FAILED;
    case FaultKind::Incomplete:
      return VK_INCOMPLETE;
    case FaultKind::Broken:
      return VK_ERROR_UNKNOWN;
  }
  return VK_ERROR_UNKNOWN;
}

using ObjectCounts = std::map<std::string, int, std::less<>>;
using FunctionNames = std::set<std::string, std::less<>>;

// One for the process: driver functions have no state.
struct FaultState {
  std::atomic<bool> counting = false;
  std::atomic<int> calls = 0;     // that can fail, since `begin`
  std::atomic<int> fail_at = -1;  // the call to fail; -1: none
  std::atomic<FaultKind> kind = FaultKind::HostMemory;
  std::atomic<bool> failed = false;
  std::atomic<bool> stays_lost = false;  // after a fault of kind Lost every call fails so
  std::atomic<bool> names_fail = false;  // every object that is given a name
  // A function whose list is never complete, however often it is asked for.
  std::atomic<const char*> never_complete = nullptr;
  std::atomic<int> alive = 0;  // objects made and not destroyed

  // What the device is made to look like.
  std::atomic<std::uint32_t> most_workgroups = UINT32_MAX;  // of one dispatch, on each axis
  std::atomic<bool> is_coherent = true;                     // its memory

  std::mutex mutex;             // of everything below
  std::string failed_function;  // the one that was made to fail
  ObjectCounts alive_by_kind;
  std::vector<std::string> log;  // of the calls that can fail, in order
  std::vector<std::vector<FaultKind>> kinds;
  // What can be made to fail in the whole process, and what was made to.
  FunctionNames injectable;
  FunctionNames made_to_fail;
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
  if (function == "vkQueueSubmit") return {HostMemory, DeviceMemory, Lost};
  if (function == "vkGetQueryPoolResults" || function == "vkGetFenceStatus" ||
      function == "vkGetSemaphoreCounterValue") {
    return {DeviceMemory, Lost};
  }
  if (function == "vkCreateDevice") return {HostMemory, Lost};
  if (function == "vkCreateComputePipelines") return {DeviceMemory, Broken};
  if (function == "vkCreateInstance") return {HostMemory, DeviceMemory, Broken};
  if (function == "vkMapMemory") return {HostMemory, DeviceMemory, MapFailed};
  if (function == "vkResetFences" || function == "vkResetCommandPool") return {DeviceMemory};
  if (function == "vkAllocateDescriptorSets") return {HostMemory, DeviceMemory, PoolMemory};
  if (function.starts_with("vkEnumerate") || function == "vkGetPipelineCacheData") {
    return {HostMemory, DeviceMemory, Incomplete};
  }
  return {HostMemory, DeviceMemory};
}

inline void note_failed(std::string_view function) {
  FaultState& state = fault_state();
  state.failed = true;
  const std::lock_guard lock(state.mutex);
  state.failed_function = function;
  state.made_to_fail.emplace(function);
}

// Memory of the host is short for a moment; of the device it is until the work has ended, so that
// a second try fails like the first.
inline bool fails_again(std::string_view function) {
  FaultState& state = fault_state();
  if (!state.counting || !state.failed || state.kind != FaultKind::DeviceMemory) return false;
  const std::lock_guard lock(state.mutex);
  return state.failed_function == function;
}

// The result that the call has to give, or VK_SUCCESS to go on.
inline VkResult before_call(std::string_view function) {
  FaultState& state = fault_state();
  const std::vector<FaultKind> kinds = kinds_of(function);
  if (function == "vkSetDebugUtilsObjectNameEXT") {  // all of them or none
    if (!state.names_fail) return VK_SUCCESS;
    note_failed(function);
    return VK_ERROR_OUT_OF_HOST_MEMORY;
  }
  if (state.stays_lost && std::ranges::find(kinds, FaultKind::Lost) != kinds.end()) {
    return VK_ERROR_DEVICE_LOST;
  }
  if (fails_again(function)) return result_of(state.kind);
  if (!state.counting) return VK_SUCCESS;
  if (state.fail_at < 0) {
    const std::lock_guard lock(state.mutex);
    state.log.emplace_back(function);
    state.kinds.push_back(kinds);
  }
  const char* const endless = state.never_complete;
  if (endless != nullptr && function == endless) return VK_INCOMPLETE;
  if (state.calls++ != state.fail_at) return VK_SUCCESS;
  // Not quite the same calls come each time, and no function gives what it cannot give.
  if (std::ranges::find(kinds, state.kind.load()) == kinds.end()) return VK_SUCCESS;
  note_failed(function);
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

// From now on calls are counted, and one of them fails.
inline void begin_faults(int fail_at, FaultKind kind) {
  FaultState& state = fault_state();
  state.calls = 0;
  state.fail_at = fail_at;
  state.kind = kind;
  state.failed = false;
  state.stays_lost = false;
  state.log.clear();
  state.kinds.clear();
  state.counting = true;
}
inline void begin_counting() { begin_faults(-1, FaultKind::HostMemory); }

inline void end_faults() {
  fault_state().counting = false;
  fault_state().stays_lost = false;
}

}  // namespace felsite::test
