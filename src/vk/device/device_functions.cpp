#include "vk/device/device_functions.h"

namespace felsite::vk {

DeviceFunctions load_device_functions(VkDevice device, PFN_vkGetDeviceProcAddr from) {
  DeviceFunctions functions;
#define FELSITE_LOAD(name) functions.name = reinterpret_cast<PFN_##name>(from(device, #name));
#define FELSITE_LOAD_LATER(name) \
  FELSITE_LOAD(name)             \
  if (functions.name == nullptr) \
    functions.name = reinterpret_cast<PFN_##name>(from(device, #name "KHR"));
  FELSITE_DEVICE_FUNCTIONS(FELSITE_LOAD)
  FELSITE_LATER_DEVICE_FUNCTIONS(FELSITE_LOAD_LATER)
#undef FELSITE_LOAD_LATER
#undef FELSITE_LOAD
  return functions;
}

}  // namespace felsite::vk
