// The functions of one instance that Felsite calls.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>

namespace felsite::vk {

// The version that instances ask for, and the highest that is used of a device.
inline constexpr std::uint32_t kHighestApiVersion = VK_API_VERSION_1_3;

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

InstanceFunctions load_instance_functions(VkInstance instance, PFN_vkGetInstanceProcAddr from);

}  // namespace felsite::vk
