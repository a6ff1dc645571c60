// The system's Vulkan loader, opened at run time: a program that uses Felsite also starts without
// Vulkan, and one that links the loader keeps its own functions.
#pragma once

#include <vulkan/vulkan.h>

#include "felsite/error.h"

namespace felsite::vk {

// The functions that need no instance.
struct LoaderFunctions {
  PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
  PFN_vkCreateInstance create_instance = nullptr;
  PFN_vkEnumerateInstanceExtensionProperties enumerate_instance_extensions = nullptr;
  PFN_vkEnumerateInstanceLayerProperties enumerate_instance_layers = nullptr;
  PFN_vkEnumerateInstanceVersion enumerate_instance_version = nullptr;  // null in Vulkan 1.0
};

// Opens the loader, once for the process.
Result<void> open_loader();

// The functions of the open loader; null before. Tests replace them to inject faults.
LoaderFunctions& loader();

// The version of Vulkan that the open loader supports.
std::uint32_t loader_version();

}  // namespace felsite::vk
