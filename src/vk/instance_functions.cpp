#include "vk/instance_functions.h"

#include <mutex>

#include "vk/vulkan_error.h"

namespace felsite::vk {
namespace {

// A device older than the version that took an extension over has its functions by the names of the
// extension only. Callers know one name.
void name_as_core(VolkDeviceTable& table) {
  const auto also = [](auto& core, auto extension) {
    if (core == nullptr) core = extension;
  };
  also(table.vkWaitSemaphores, table.vkWaitSemaphoresKHR);
  also(table.vkSignalSemaphore, table.vkSignalSemaphoreKHR);
  also(table.vkGetSemaphoreCounterValue, table.vkGetSemaphoreCounterValueKHR);
  also(table.vkCmdPipelineBarrier2, table.vkCmdPipelineBarrier2KHR);
  also(table.vkCmdWriteTimestamp2, table.vkCmdWriteTimestamp2KHR);
  also(table.vkQueueSubmit2, table.vkQueueSubmit2KHR);
}

}  // namespace

Result<void> open_loader() {
  static const VkResult opened = volkInitialize();  // once: it never closes the library again
  if (opened == VK_SUCCESS) return {};
  return std::unexpected(unsupported("There is no Vulkan loader on this machine.",
                                     "install a Vulkan loader and a driver (Mesa's lavapipe "
                                     "needs no GPU), or use the reference backend.",
                                     ""));
}

InstanceFunctions load_instance_functions(VkInstance instance, PFN_vkGetInstanceProcAddr from) {
  InstanceFunctions functions;
  const auto load = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(from(instance, name));
  };
  load(functions.destroy_instance, "vkDestroyInstance");
  load(functions.enumerate_physical_devices, "vkEnumeratePhysicalDevices");
  load(functions.enumerate_device_extensions, "vkEnumerateDeviceExtensionProperties");
  load(functions.properties, "vkGetPhysicalDeviceProperties");
  load(functions.properties2, "vkGetPhysicalDeviceProperties2");
  load(functions.features2, "vkGetPhysicalDeviceFeatures2");
  load(functions.memory_properties, "vkGetPhysicalDeviceMemoryProperties");
  load(functions.memory_properties2, "vkGetPhysicalDeviceMemoryProperties2");
  load(functions.queue_family_properties, "vkGetPhysicalDeviceQueueFamilyProperties");
  load(functions.create_device, "vkCreateDevice");
  load(functions.get_device_proc_addr, "vkGetDeviceProcAddr");
  load(functions.create_messenger, "vkCreateDebugUtilsMessengerEXT");
  load(functions.destroy_messenger, "vkDestroyDebugUtilsMessengerEXT");
  load(functions.set_object_name, "vkSetDebugUtilsObjectNameEXT");
  load(functions.begin_label, "vkCmdBeginDebugUtilsLabelEXT");
  load(functions.end_label, "vkCmdEndDebugUtilsLabelEXT");
  return functions;
}

VolkDeviceTable load_device_functions(VkDevice device, PFN_vkGetDeviceProcAddr from) {
  // volk asks its global variable; it is lent ours for the moment.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const PFN_vkGetDeviceProcAddr before = vkGetDeviceProcAddr;
  vkGetDeviceProcAddr = from;
  VolkDeviceTable table{};
  volkLoadDeviceTable(&table, device);
  vkGetDeviceProcAddr = before;
  name_as_core(table);
  return table;
}

}  // namespace felsite::vk
