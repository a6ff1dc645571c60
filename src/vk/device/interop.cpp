#include "vk/device/interop.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/errors.h"
#include "base/try.h"
#include "vk/device/device.h"
#include "vk/instance/vulkan_error.h"
#include "vk/plan/feature_chain.h"
#include "vk/plan/feature_table.h"
#include "vk/plan/stated_limits.h"

namespace felsite::vk {
namespace {

Result<void> check(const VulkanInterop& interop) {
  const auto bad = [](std::string message, std::string fix) {
    return std::unexpected(base::bad_inputs(std::move(message), std::move(fix)));
  };
  if (interop.instance == VK_NULL_HANDLE || interop.physical_device == VK_NULL_HANDLE ||
      interop.device == VK_NULL_HANDLE || interop.queue == VK_NULL_HANDLE) {
    return bad("The VulkanInterop lacks an instance, a physical device, a device or a queue.",
               "fill in all four handles.");
  }
  if (interop.api_version < VK_API_VERSION_1_1) {
    return bad("The instance of the caller's device was made for Vulkan 1.0.",
               "set VkApplicationInfo::apiVersion to 1.1 or later, and api_version to the same.");
  }
  return {};
}

}  // namespace

DeviceSnapshot restricted(DeviceSnapshot device, const VulkanInterop& interop) {
  device.api_version = std::min(device.api_version, interop.api_version);
  std::erase_if(device.extensions, [&](const std::string& name) {
    return std::ranges::none_of(interop.extensions,
                                [&](const char* given) { return name == given; });
  });
  device.features = features_in(interop.features);
  // A feature without its extension cannot be used.
  for (const FeatureRow& row : kFeatureTable) device.features.*row.feature &= offers(device, row);
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
    return std::unexpected(unsupported("The caller's device supports Vulkan 1.0 only.",
                                       "use another device.", snapshot.name));
  }
  if (compute_family(snapshot) != interop.queue_family) {
    return std::unexpected(unsupported(
        fmt::format("The caller's queue cannot compute: it is of family {}.", interop.queue_family),
        "give a queue of a family with VK_QUEUE_COMPUTE_BIT, and name that family.",
        snapshot.name));
  }
  if (const std::string_view wrong = impossible_limit(snapshot); !wrong.empty()) {
    return std::unexpected(
        unsupported(fmt::format("The caller's device cannot be used: {}.", wrong),
                    "update its driver, or use another device.", snapshot.name));
  }
  FELSITE_TRY(auto plan, plan_opening(snapshot, {.mask = mask}));
  plan.notes.emplace_back(
      "The device is the caller's: features that the caller did not turn on are not used.");

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
