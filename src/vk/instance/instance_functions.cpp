#include "vk/instance/instance_functions.h"

namespace felsite::vk {

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

}  // namespace felsite::vk
