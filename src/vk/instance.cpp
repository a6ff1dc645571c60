#include "vk/instance.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "vk/device_snapshot.h"
#include "vk/vulkan_error.h"

namespace felsite::vk {
namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

// Guards volk's global functions and the instance they belong to, also while it is destroyed.
std::mutex& instance_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::weak_ptr<Instance>& open_instance() {
  static std::weak_ptr<Instance> instance;
  return instance;
}

bool validation_wanted() {
  const char* const value = std::getenv("FELSITE_VALIDATION");
  return value != nullptr && std::string_view(value) == "1";
}

bool has_validation_layer() {
  std::uint32_t count = 0;
  if (vkEnumerateInstanceLayerProperties(&count, nullptr) != VK_SUCCESS) return false;
  std::vector<VkLayerProperties> layers(count);
  if (vkEnumerateInstanceLayerProperties(&count, layers.data()) != VK_SUCCESS) return false;
  return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
    return std::string_view(layer.layerName) == kValidationLayer;
  });
}

VKAPI_ATTR VkBool32 VKAPI_CALL note_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                            VkDebugUtilsMessageTypeFlagsEXT,
                                            const VkDebugUtilsMessengerCallbackDataEXT* data,
                                            void* log) {
  static_cast<ValidationLog*>(log)->add(data->pMessage);
  return VK_FALSE;
}

}  // namespace

void ValidationLog::add(std::string message) {
  ++count_;
  const std::lock_guard lock(mutex_);
  if (kept_.size() < kMostKept) kept_.push_back(std::move(message));
}

std::vector<std::string> ValidationLog::messages() const {
  const std::lock_guard lock(mutex_);
  return kept_;
}

Result<std::shared_ptr<Instance>> Instance::shared() {
  std::unique_lock lock(instance_mutex());
  if (auto open = open_instance().lock()) return open;
  std::shared_ptr<Instance> instance(new Instance);
  if (auto created = instance->create(); !created) {
    lock.unlock();  // the destructor of what was begun takes it
    return std::unexpected(std::move(created.error()));
  }
  open_instance() = instance;
  return instance;
}

Result<void> Instance::create() {
  static const VkResult loader = volkInitialize();  // once: it never closes the library again
  if (loader != VK_SUCCESS) {
    return std::unexpected(unsupported("There is no Vulkan loader on this machine.",
                                       "install a Vulkan loader and a driver (Mesa's lavapipe "
                                       "needs no GPU), or use the reference backend.",
                                       ""));
  }
  if (volkGetInstanceVersion() < VK_API_VERSION_1_1) {
    return std::unexpected(unsupported("The Vulkan loader knows Vulkan 1.0 only.",
                                       "install a loader for Vulkan 1.1 or later.", ""));
  }
  const bool validate = validation_wanted() && has_validation_layer();
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.pApplicationName = "felsite";
  application.pEngineName = "felsite";
  application.apiVersion = kHighestApiVersion;
  const char* const debug_utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  if (validate) {
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidationLayer;
    info.enabledExtensionCount = 1;  // the layer itself brings it, whatever the driver has
    info.ppEnabledExtensionNames = &debug_utils;
  }
  const VkResult result = vkCreateInstance(&info, nullptr, &handle_);
  if (result != VK_SUCCESS) {
    handle_ = VK_NULL_HANDLE;
    return std::unexpected(
        vulkan_error(result, "make an instance", "", ErrorCode::UnsupportedFeature));
  }
  volkLoadInstanceOnly(handle_);
  if (validate) watch_validation();
  return {};
}

void Instance::watch_validation() {
  VkDebugUtilsMessengerCreateInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT;
  info.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                         VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  info.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  info.pfnUserCallback = note_message;
  info.pUserData = &validation_log_;
  // Without the messenger `validated()` says so; the work itself does not depend on it.
  if (vkCreateDebugUtilsMessengerEXT(handle_, &info, nullptr, &messenger_) != VK_SUCCESS) {
    messenger_ = VK_NULL_HANDLE;
  }
}

Instance::~Instance() {
  const std::lock_guard lock(instance_mutex());
  if (messenger_ != VK_NULL_HANDLE) vkDestroyDebugUtilsMessengerEXT(handle_, messenger_, nullptr);
  if (handle_ != VK_NULL_HANDLE) vkDestroyInstance(handle_, nullptr);
}

Result<std::vector<VkPhysicalDevice>> Instance::physical_devices() const {
  std::vector<VkPhysicalDevice> devices;
  VkResult result = VK_INCOMPLETE;
  while (result == VK_INCOMPLETE) {  // a device was plugged in between the two calls
    std::uint32_t count = 0;
    result = vkEnumeratePhysicalDevices(handle_, &count, nullptr);
    if (result != VK_SUCCESS) break;
    devices.resize(count);
    result = vkEnumeratePhysicalDevices(handle_, &count, devices.data());
    devices.resize(count);
  }
  if (result != VK_SUCCESS) {
    return std::unexpected(
        vulkan_error(result, "list the devices", "", ErrorCode::UnsupportedFeature));
  }
  return devices;
}

}  // namespace felsite::vk
