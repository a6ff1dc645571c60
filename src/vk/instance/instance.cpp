#include "vk/instance/instance.h"

#include <algorithm>
#include <mutex>
#include <string_view>

#include "base/try.h"
#include "vk/instance/enumerate.h"
#include "vk/instance/loader.h"
#include "vk/instance/vulkan_error.h"

namespace felsite::vk {
namespace {

// Guards the open instance, also while it is destroyed, so that a new one waits for that.
std::mutex& instance_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::weak_ptr<Instance>& open_instance() {
  static std::weak_ptr<Instance> instance;
  return instance;
}

// Tries with space for many rows first: each call makes the loader find and open all drivers, which
// takes a millisecond. Without a list no optional extension is used.
std::vector<VkExtensionProperties> instance_extensions() {
  constexpr std::size_t kMaxRoom = 4096;
  std::vector<VkExtensionProperties> found(64);
  while (true) {
    auto count = static_cast<std::uint32_t>(found.size());
    const VkResult result = loader().enumerate_instance_extensions(nullptr, &count, found.data());
    if (result == VK_INCOMPLETE && found.size() < kMaxRoom) {
      found.resize(2 * found.size());
      continue;
    }
    found.resize(result == VK_SUCCESS ? count : 0);
    return found;
  }
}

// The loader also reports that memory is short if it cannot read the file of a driver, which is the
// far more frequent cause.
Error instance_error(VkResult result) {
  Error error = vulkan_error(result, "make an instance", "", ErrorCode::UnsupportedFeature);
  if (result != VK_ERROR_OUT_OF_HOST_MEMORY) return error;
  error.code = ErrorCode::UnsupportedFeature;
  error.message =
      "Vulkan could not make an instance: a file that names a driver is damaged, or memory is "
      "short "
      "(VK_ERROR_OUT_OF_HOST_MEMORY).";
  error.fix =
      "set VK_LOADER_DEBUG=all to see which file (*.json) it is, and repair it or install its "
      "driver "
      "again; or use the reference backend.";
  return error;
}

}  // namespace

Result<std::shared_ptr<Instance>> Instance::shared() {
  // Declared before the lock, so that it is destroyed after the unlock: the destructor of an
  // incomplete instance takes the lock.
  std::shared_ptr<Instance> instance(new Instance);
  const std::lock_guard lock(instance_mutex());
  if (auto open = open_instance().lock()) return open;
  FELSITE_CHECK(instance->create());
  open_instance() = instance;
  return instance;
}

Result<std::shared_ptr<Instance>> Instance::adopt(VkInstance handle, PFN_vkGetInstanceProcAddr from,
                                                  bool debug_utils) {
  if (from == nullptr) {
    FELSITE_CHECK(open_loader());
    from = loader().get_instance_proc_addr;
  }
  std::shared_ptr<Instance> instance(new Instance);
  instance->handle_ = handle;
  instance->adopted_ = true;
  instance->names_objects_ = debug_utils;
  instance->labels_steps_ = debug_utils;
  instance->functions_ = load_instance_functions(handle, from);
  return instance;
}

Result<void> Instance::create() {
  FELSITE_CHECK(open_loader());
  if (loader_version() < VK_API_VERSION_1_1) {
    return std::unexpected(unsupported("The Vulkan loader knows Vulkan 1.0 only.",
                                       "install a loader for Vulkan 1.1 or later.", ""));
  }
  FELSITE_TRY(const auto validation, wanted_validation());
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "felsite";
  application.pEngineName = "felsite";
  application.apiVersion = kHighestApiVersion;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  const std::vector<VkExtensionProperties> known = instance_extensions();
  const auto has_extension = [&](std::string_view name) {
    return std::ranges::any_of(known, [&](const VkExtensionProperties& extension) {
      return name == extension.extensionName;
    });
  };
  std::vector<const char*> extensions;
  // Without it the loader hides devices that are not fully Vulkan, such as MoltenVK's.
  if (has_extension(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME)) {
    extensions.push_back(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME);
    info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
  }
  // The layer itself provides it.
  names_objects_ =
      validation != Validation::Off || has_extension(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  labels_steps_ = names_objects_;
  if (names_objects_) extensions.push_back(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
  if (validation != Validation::Off) {
    labels_steps_ = keeps_labels_apart(validation_layer_version().value_or(0));
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
  }
  const VkValidationFeatureEnableEXT hazards =
      VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
  VkValidationFeaturesEXT features{};
  features.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT;
  features.enabledValidationFeatureCount = 1;
  features.pEnabledValidationFeatures = &hazards;
  if (validation == Validation::Synchronization) {
    extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    info.pNext = &features;
  }
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult result = loader().create_instance(&info, nullptr, &handle_);
  if (result != VK_SUCCESS) {
    handle_ = VK_NULL_HANDLE;
    return std::unexpected(instance_error(result));
  }
  functions_ = load_instance_functions(handle_, loader().get_instance_proc_addr);
  // Without the messenger `validated()` is false; nothing else depends on it.
  if (validation != Validation::Off)
    messenger_ = make_messenger(handle_, functions_, validation_log());
  return {};
}

Instance::~Instance() {
  if (adopted_ || stays_open_ || handle_ == VK_NULL_HANDLE) return;
  const std::lock_guard lock(instance_mutex());
  if (messenger_ != VK_NULL_HANDLE) functions_.destroy_messenger(handle_, messenger_, nullptr);
  functions_.destroy_instance(handle_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::physical_devices() const {
  std::vector<VkPhysicalDevice> devices;
  const VkResult result = enumerate(devices, [&](std::uint32_t* count, VkPhysicalDevice* rows) {
    return functions_.enumerate_physical_devices(handle_, count, rows);
  });
  if (result != VK_SUCCESS) {
    return std::unexpected(
        vulkan_error(result, "list the devices", "", ErrorCode::UnsupportedFeature));
  }
  return devices;
}

}  // namespace felsite::vk
