// An instance and a device as a program makes them that knows nothing of Felsite.
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <vector>

#include "felsite/vulkan_interop.h"
#include "vk/device/device_functions.h"
#include "vk/instance/instance_functions.h"
#include "vk/instance/loader.h"
#include "vk/instance/validation.h"
#include "vk/plan/feature_chain.h"

namespace felsite::test {

// How much the program turns on.
enum class TurnedOn { Nothing, VersionStructs, SingleStructs };

class CallersDevice {
 public:
  CallersDevice(std::uint32_t api_version, TurnedOn how) : api_version_(api_version) {
    REQUIRE(vk::open_loader());
    make_instance();
    std::uint32_t count = 1;
    functions_.enumerate_physical_devices(instance_, &count, &physical_);
    REQUIRE(count == 1);
    make_device(how);
  }
  ~CallersDevice() {
    device_functions_.vkDestroyDevice(device_, nullptr);
    // The layer complains here about all that was left behind.
    CHECK(log_.count() == 0);
    if (messenger_ != VK_NULL_HANDLE) functions_.destroy_messenger(instance_, messenger_, nullptr);
    functions_.destroy_instance(instance_, nullptr);
  }
  CallersDevice(const CallersDevice&) = delete;
  CallersDevice& operator=(const CallersDevice&) = delete;

  VulkanInterop interop() const {
    return {.instance = instance_,
            .physical_device = physical_,
            .device = device_,
            .queue = queue_,
            .queue_family = 0,
            .api_version = api_version_,
            .extensions = extensions_,
            .features = has_features_ ? &features_ : nullptr,
            .debug_utils = messenger_ != VK_NULL_HANDLE};
  }

  VkDevice device() const { return device_; }
  VkQueue queue() const { return queue_; }
  const vk::DeviceFunctions& functions() const { return device_functions_; }

  // Whether the device still works.
  bool works() const {
    VkFenceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    VkFence fence = VK_NULL_HANDLE;
    if (device_functions_.vkCreateFence(device_, &info, nullptr, &fence) != VK_SUCCESS) {
      return false;
    }
    VkResult result = device_functions_.vkQueueSubmit(queue_, 0, nullptr, fence);
    if (result == VK_SUCCESS) {
      result = device_functions_.vkWaitForFences(device_, 1, &fence, VK_TRUE, UINT64_MAX);
    }
    device_functions_.vkDestroyFence(device_, fence, nullptr);
    return result == VK_SUCCESS;
  }

 private:
  void make_instance() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = api_version_;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    const char* const debug_utils = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
    const bool validate =
        vk::wanted_validation().value_or(vk::Validation::Off) != vk::Validation::Off;
    if (validate) {
      info.enabledLayerCount = 1;
      info.ppEnabledLayerNames = &vk::kValidationLayer;
      info.enabledExtensionCount = 1;
      info.ppEnabledExtensionNames = &debug_utils;
    }
    REQUIRE(vk::loader().create_instance(&info, nullptr, &instance_) == VK_SUCCESS);
    functions_ = vk::load_instance_functions(instance_, vk::loader().get_instance_proc_addr);
    if (validate) messenger_ = vk::make_messenger(instance_, functions_, log_);
  }

  // Everything that Felsite might use and this device has.
  void turn_on(TurnedOn how) {
    const vk::DeviceSnapshot snapshot = vk::read_snapshot(physical_, functions_);
    for (const char* name :
         {VK_EXT_ROBUSTNESS_2_EXTENSION_NAME, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME,
          VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME, VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
          VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME}) {
      if (snapshot.has_extension(name)) extensions_.push_back(name);
    }
    has_features_ = true;
    if (how == TurnedOn::SingleStructs) {
      chain_ = std::make_unique<vk::FeatureChain>(snapshot);
      functions_.features2(physical_, chain_->head());
      features_ = *chain_->head();
    } else {
      version11_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
      version12_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
      version13_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
      robustness2_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT;
      float_atomics_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT;
      conditional_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT;
      version11_.pNext = &version12_;
      version12_.pNext = &version13_;
      void** tail = &version13_.pNext;
      if (snapshot.has_extension(VK_EXT_ROBUSTNESS_2_EXTENSION_NAME)) {
        *tail = &robustness2_;
        tail = &robustness2_.pNext;
      }
      if (snapshot.has_extension(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) {
        *tail = &float_atomics_;
        tail = &float_atomics_.pNext;
      }
      if (snapshot.has_extension(VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME)) {
        *tail = &conditional_;
      }
      features_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
      features_.pNext = &version11_;
      functions_.features2(physical_, &features_);
    }
  }

  void make_device(TurnedOn how) {
    if (how != TurnedOn::Nothing) turn_on(how);
    const float priority = 1;
    VkDeviceQueueCreateInfo queue{};
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = has_features_ ? &features_ : nullptr;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queue;
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions_.size());
    info.ppEnabledExtensionNames = extensions_.data();
    REQUIRE(functions_.create_device(physical_, &info, nullptr, &device_) == VK_SUCCESS);
    device_functions_ = vk::load_device_functions(device_, functions_.get_device_proc_addr);
    device_functions_.vkGetDeviceQueue(device_, 0, 0, &queue_);
  }

  std::uint32_t api_version_;
  VkInstance instance_ = VK_NULL_HANDLE;
  vk::InstanceFunctions functions_;
  vk::ValidationLog log_;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  vk::DeviceFunctions device_functions_{};
  VkQueue queue_ = VK_NULL_HANDLE;
  std::vector<const char*> extensions_;
  bool has_features_ = false;
  VkPhysicalDeviceFeatures2 features_{};
  VkPhysicalDeviceVulkan11Features version11_{};
  VkPhysicalDeviceVulkan12Features version12_{};
  VkPhysicalDeviceVulkan13Features version13_{};
  VkPhysicalDeviceRobustness2FeaturesEXT robustness2_{};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT float_atomics_{};
  VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional_{};
  std::unique_ptr<vk::FeatureChain> chain_;
};

}  // namespace felsite::test
