#include "vk/instance/loader.h"

#include <dlfcn.h>

#include "vk/instance/vulkan_error.h"

namespace felsite::vk {
namespace {

#if defined(__APPLE__)
constexpr const char* kLoaderNames[] = {"libvulkan.dylib", "libvulkan.1.dylib",
                                        "libMoltenVK.dylib"};
#else
constexpr const char* kLoaderNames[] = {"libvulkan.so.1", "libvulkan.so"};
#endif

bool load() {
  void* library = nullptr;
  for (const char* const name : kLoaderNames) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
  }
  if (library == nullptr) return false;
  LoaderFunctions functions;
  functions.get_instance_proc_addr =
      reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
  if (functions.get_instance_proc_addr == nullptr) return false;
  const auto find = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(functions.get_instance_proc_addr(nullptr, name));
    return function != nullptr;
  };
  if (!find(functions.create_instance, "vkCreateInstance") ||
      !find(functions.enumerate_instance_extensions, "vkEnumerateInstanceExtensionProperties") ||
      !find(functions.enumerate_instance_layers, "vkEnumerateInstanceLayerProperties")) {
    return false;
  }
  find(functions.enumerate_instance_version, "vkEnumerateInstanceVersion");
  loader() = functions;
  return true;
}

}  // namespace

LoaderFunctions& loader() {
  static LoaderFunctions functions;
  return functions;
}

Result<void> open_loader() {
  static const bool opened = load();  // the library is never closed again
  if (opened) return {};
  return std::unexpected(unsupported("There is no Vulkan loader on this machine.",
                                     "install a Vulkan loader and a driver (Mesa's lavapipe "
                                     "needs no GPU), or use the reference backend.",
                                     ""));
}

std::uint32_t loader_version() {
  std::uint32_t version = VK_API_VERSION_1_0;
  if (loader().enumerate_instance_version == nullptr) return version;
  // A loader that has the function has Vulkan 1.1 at least, even if the call runs out of memory.
  const VkResult result = loader().enumerate_instance_version(&version);
  return result == VK_SUCCESS ? version : VK_API_VERSION_1_1;
}

}  // namespace felsite::vk
