#include "vk/device/interop.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/errors.h"
#include "base/try.h"
#include "vk/device/device.h"
#include "vk/instance/vulkan_error.h"
#include "vk/plan/stated_limits.h"

namespace felsite::vk {
namespace {

// Features of one struct of the chain, if it is one that Felsite knows. A switch over the types
// would have to name all thousand of them.
class ChainReader {
 public:
  explicit ChainReader(OptionalFeatures& on) : on_(on) {}

  void read(const VkBaseInStructure& link) {
    as<VkPhysicalDeviceFeatures2>(link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                  [&](const auto& s) {
                                    on_.int64 |= s.features.shaderInt64 == VK_TRUE;
                                    on_.float64 |= s.features.shaderFloat64 == VK_TRUE;
                                    on_.robust_access |= s.features.robustBufferAccess == VK_TRUE;
                                  });
    read_versions(link);
    as<VkPhysicalDevice16BitStorageFeatures>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES,
        [&](const auto& s) { on_.storage16 |= s.storageBuffer16BitAccess == VK_TRUE; });
    as<VkPhysicalDevice8BitStorageFeatures>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES,
        [&](const auto& s) { on_.storage8 |= s.storageBuffer8BitAccess == VK_TRUE; });
    as<VkPhysicalDeviceShaderAtomicInt64Features>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES,
        [&](const auto& s) { read_atomics64(s); });
    as<VkPhysicalDeviceShaderAtomicFloatFeaturesEXT>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT,
        [&](const auto& s) {
          on_.buffer_float_atomic_add |= s.shaderBufferFloat32AtomicAdd == VK_TRUE;
          on_.shared_float_atomic_add |= s.shaderSharedFloat32AtomicAdd == VK_TRUE;
        });
    as<VkPhysicalDeviceVulkanMemoryModelFeatures>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES,
        [&](const auto& s) { read_memory_model(s); });
    as<VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES,
        [&](const auto& s) {
          on_.subgroup_extended_types |= s.shaderSubgroupExtendedTypes == VK_TRUE;
        });
    as<VkPhysicalDeviceRobustness2FeaturesEXT>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT, [&](const auto& s) {
          on_.robust_access2 |= s.robustBufferAccess2 == VK_TRUE && s.nullDescriptor == VK_TRUE;
        });
    as<VkPhysicalDeviceMaintenance4Features>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES,
        [&](const auto& s) { on_.maintenance4 |= s.maintenance4 == VK_TRUE; });
    as<VkPhysicalDeviceTimelineSemaphoreFeatures>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES,
        [&](const auto& s) { on_.timeline_semaphore |= s.timelineSemaphore == VK_TRUE; });
    as<VkPhysicalDeviceSynchronization2Features>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES,
        [&](const auto& s) { on_.synchronization2 |= s.synchronization2 == VK_TRUE; });
    as<VkPhysicalDeviceConditionalRenderingFeaturesEXT>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT,
        [&](const auto& s) { on_.conditional_rendering |= s.conditionalRendering == VK_TRUE; });
  }

 private:
  template <class Struct, class Read>
  static void as(const VkBaseInStructure& link, VkStructureType type, Read&& read) {
    if (link.sType == type) read(reinterpret_cast<const Struct&>(link));
  }

  // The structs that hold all features of one version of Vulkan.
  void read_versions(const VkBaseInStructure& link) {
    as<VkPhysicalDeviceVulkan11Features>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES,
        [&](const auto& s) { on_.storage16 |= s.storageBuffer16BitAccess == VK_TRUE; });
    as<VkPhysicalDeviceVulkan12Features>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES, [&](const auto& s) {
          on_.storage8 |= s.storageBuffer8BitAccess == VK_TRUE;
          read_atomics64(s);
          read_memory_model(s);
          on_.subgroup_extended_types |= s.shaderSubgroupExtendedTypes == VK_TRUE;
          on_.timeline_semaphore |= s.timelineSemaphore == VK_TRUE;
        });
    as<VkPhysicalDeviceVulkan13Features>(
        link, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES, [&](const auto& s) {
          on_.synchronization2 |= s.synchronization2 == VK_TRUE;
          on_.maintenance4 |= s.maintenance4 == VK_TRUE;
        });
  }

  void read_atomics64(const auto& s) {
    on_.buffer_atomics64 |= s.shaderBufferInt64Atomics == VK_TRUE;
    on_.shared_atomics64 |= s.shaderSharedInt64Atomics == VK_TRUE;
  }
  void read_memory_model(const auto& s) {
    on_.memory_model |= s.vulkanMemoryModel == VK_TRUE;
    on_.memory_model_device_scope |= s.vulkanMemoryModelDeviceScope == VK_TRUE;
  }

  OptionalFeatures& on_;
};

Result<void> check(const VulkanInterop& interop) {
  const auto bad = [](std::string message, std::string fix) {
    return std::unexpected(base::bad_inputs(std::move(message), std::move(fix)));
  };
  if (interop.instance == VK_NULL_HANDLE || interop.physical_device == VK_NULL_HANDLE ||
      interop.device == VK_NULL_HANDLE || interop.queue == VK_NULL_HANDLE) {
    return bad("A device was brought along without its instance, physical device, or queue.",
               "fill in all four handles.");
  }
  if (interop.api_version < VK_API_VERSION_1_1) {
    return bad("A device was brought along whose instance was made for Vulkan 1.0.",
               "set VkApplicationInfo::apiVersion to 1.1 or later, and api_version to the same.");
  }
  return {};
}

}  // namespace

OptionalFeatures features_in(const VkPhysicalDeviceFeatures2* chain) {
  OptionalFeatures on;
  ChainReader reader(on);
  for (auto* link = reinterpret_cast<const VkBaseInStructure*>(chain); link != nullptr;
       link = link->pNext) {
    reader.read(*link);
  }
  return on;
}

DeviceSnapshot restricted(DeviceSnapshot device, const VulkanInterop& interop) {
  device.api_version = std::min(device.api_version, interop.api_version);
  std::erase_if(device.extensions, [&](const std::string& name) {
    return std::ranges::none_of(interop.extensions,
                                [&](const char* given) { return name == given; });
  });
  device.features = features_in(interop.features);
  // Modules may declare these only where the extension is on.
  if (!device.offers(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME, VK_API_VERSION_1_2)) {
    device.float_controls = {};
  }
  for (std::uint32_t i = 0; i < device.queue_families.size(); ++i) {
    if (i != interop.queue_family) device.queue_families[i].queues = 0;
  }
  return device;
}

Result<std::unique_ptr<Device>> adopt_device(const VulkanInterop& interop,
                                             const std::string& mask) {
  FELSITE_CHECK(check(interop));
  FELSITE_TRY(auto instance, Instance::adopt(interop.instance, interop.get_instance_proc_addr,
                                             interop.debug_utils));
  DeviceSnapshot snapshot =
      restricted(read_snapshot(interop.physical_device, instance->functions()), interop);
  if (snapshot.api_version < VK_API_VERSION_1_1) {
    return std::unexpected(unsupported("The device that was brought along knows Vulkan 1.0 only.",
                                       "bring another device.", snapshot.name));
  }
  if (compute_family(snapshot) != interop.queue_family) {
    return std::unexpected(unsupported(
        fmt::format("The queue that was brought along does not compute: it is of family {}.",
                    interop.queue_family),
        "bring a queue of a family with VK_QUEUE_COMPUTE_BIT, and name that family.",
        snapshot.name));
  }
  if (const std::string_view wrong = impossible_limit(snapshot); !wrong.empty()) {
    return std::unexpected(
        unsupported(fmt::format("The device that was brought along cannot be used: {}.", wrong),
                    "update its driver, or bring another device.", snapshot.name));
  }
  FELSITE_TRY(auto plan, plan_opening(snapshot, {.mask = mask}));
  plan.notes.emplace_back(
      "The device was brought along: what its owner did not turn on is left unused.");

  std::unique_ptr<Device> device(new Device);
  device->instance_ = std::move(instance);
  device->snapshot_ = std::move(snapshot);
  device->plan_ = std::move(plan);
  device->physical_device_ = interop.physical_device;
  device->handle_ = interop.device;
  device->queue_ = interop.queue;
  device->adopted_ = true;
  device->callers_mutex_ = interop.queue_mutex;
  FELSITE_CHECK(device->prepare(nullptr));
  return device;
}

}  // namespace felsite::vk
