#include "raw_functions.h"

#include <dlfcn.h>

namespace felsite::bench {

PFN_vkGetInstanceProcAddr raw_loader() {
  static const auto loader = [] {
    void* const library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void* const symbol = library == nullptr ? nullptr : dlsym(library, "vkGetInstanceProcAddr");
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(symbol);
  }();
  return loader;
}

RawInstanceFunctions raw_instance_functions(VkInstance instance) {
  RawInstanceFunctions functions;
#define FELSITE_RAW_LOAD(name) \
  functions.name = reinterpret_cast<PFN_##name>(raw_loader()(instance, #name));
  FELSITE_RAW_INSTANCE_FUNCTIONS(FELSITE_RAW_LOAD)
#undef FELSITE_RAW_LOAD
  return functions;
}

RawDeviceFunctions raw_device_functions(VkDevice device, PFN_vkGetDeviceProcAddr from) {
  RawDeviceFunctions functions;
#define FELSITE_RAW_LOAD(name) functions.name = reinterpret_cast<PFN_##name>(from(device, #name));
  FELSITE_RAW_DEVICE_FUNCTIONS(FELSITE_RAW_LOAD)
#undef FELSITE_RAW_LOAD
  return functions;
}

}  // namespace felsite::bench
