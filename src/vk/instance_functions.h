// The functions of one instance. volk would keep them in global variables, which hold those of one
// instance only, and which a program with a volk of its own may share with us; so they are here.
#pragma once

#include <volk.h>

#include "felsite/error.h"

namespace felsite::vk {

struct InstanceFunctions {
  PFN_vkDestroyInstance destroy_instance = nullptr;
  PFN_vkEnumeratePhysicalDevices enumerate_physical_devices = nullptr;
  PFN_vkEnumerateDeviceExtensionProperties enumerate_device_extensions = nullptr;
  PFN_vkGetPhysicalDeviceProperties properties = nullptr;
  PFN_vkGetPhysicalDeviceProperties2 properties2 = nullptr;
  PFN_vkGetPhysicalDeviceFeatures2 features2 = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties memory_properties = nullptr;
  PFN_vkGetPhysicalDeviceMemoryProperties2 memory_properties2 = nullptr;
  PFN_vkGetPhysicalDeviceQueueFamilyProperties queue_family_properties = nullptr;
  PFN_vkCreateDevice create_device = nullptr;
  PFN_vkGetDeviceProcAddr get_device_proc_addr = nullptr;
  // Null without VK_EXT_debug_utils.
  PFN_vkCreateDebugUtilsMessengerEXT create_messenger = nullptr;
  PFN_vkDestroyDebugUtilsMessengerEXT destroy_messenger = nullptr;
  PFN_vkSetDebugUtilsObjectNameEXT set_object_name = nullptr;
  PFN_vkCmdBeginDebugUtilsLabelEXT begin_label = nullptr;
  PFN_vkCmdEndDebugUtilsLabelEXT end_label = nullptr;
};

// Opens the system's loader, once for the process.
Result<void> open_loader();

InstanceFunctions load_instance_functions(VkInstance instance, PFN_vkGetInstanceProcAddr from);

// The functions of a device, by the names of the core also where an extension brings them.
VolkDeviceTable load_device_functions(VkDevice device, PFN_vkGetDeviceProcAddr from);

}  // namespace felsite::vk
