#include "vk/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>

#include "vk/device_capabilities.h"
#include "vk/device_choice.h"
#include "vk/feature_chain.h"
#include "vk/vulkan_error.h"

namespace felsite::vk {
namespace {

// How long closing a device waits for work that already exceeded its timeout.
constexpr std::chrono::seconds kGrace{5};

std::uint64_t vulkan_timeout(std::chrono::nanoseconds timeout) {
  return timeout == std::chrono::nanoseconds::max()
             ? UINT64_MAX
             : static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
}

// Nothing runs on a lost device.
bool has_ended(VkResult fence) { return fence == VK_SUCCESS || fence == VK_ERROR_DEVICE_LOST; }

std::vector<DeviceSnapshot> read_snapshots(std::span<const VkPhysicalDevice> devices) {
  std::vector<DeviceSnapshot> snapshots;
  for (const VkPhysicalDevice device : devices) snapshots.push_back(read_snapshot(device));
  return snapshots;
}

}  // namespace

Result<std::vector<DeviceSnapshot>> list_devices() {
  auto instance = Instance::shared();
  if (!instance) return std::unexpected(std::move(instance.error()));
  auto devices = (*instance)->physical_devices();
  if (!devices) return std::unexpected(std::move(devices.error()));
  return read_snapshots(*devices);
}

Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice) {
  auto instance = Instance::shared();
  if (!instance) return std::unexpected(std::move(instance.error()));
  const auto physical = (*instance)->physical_devices();
  if (!physical) return std::unexpected(physical.error());
  const auto snapshots = read_snapshots(*physical);
  const auto chosen = choose_device(snapshots, choice.name_contains);
  if (!chosen) return std::unexpected(chosen.error());

  std::unique_ptr<Device> device(new Device);
  device->instance_ = std::move(*instance);
  device->snapshot_ = snapshots[*chosen];
  if (auto created = device->create((*physical)[*chosen], choice); !created) {
    return std::unexpected(std::move(created.error()));
  }
  return device;
}

Result<void> Device::create(VkPhysicalDevice physical_device, const DeviceChoice& choice) {
  const codegen::Capabilities found = capabilities_of(snapshot_);
  capabilities_ = choice.mask.value_or(found);
  if (const auto excess = excess_of(capabilities_, found); !excess.empty()) {
    return std::unexpected(unsupported(
        fmt::format("The mask asks for more than the device has: {}.", fmt::join(excess, ", ")),
        "narrow the mask, or choose another device.", snapshot_.name));
  }
  queue_family_ = compute_family(snapshot_).value_or(0);

  FeatureChain features(snapshot_);
  features.write(features_for(snapshot_, capabilities_));
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{};
  queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = features.head();
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<std::uint32_t>(features.extensions().size());
  info.ppEnabledExtensionNames = features.extensions().data();
  VkResult result = vkCreateDevice(physical_device, &info, nullptr, &handle_);
  if (result != VK_SUCCESS) {
    handle_ = VK_NULL_HANDLE;
    return std::unexpected(error(result, "open the device", ErrorCode::UnsupportedFeature));
  }
  volkLoadDeviceTable(&functions_, handle_);
  if (choice.edit_functions != nullptr) choice.edit_functions(functions_);
  functions_.vkGetDeviceQueue(handle_, queue_family_, 0, &queue_);

  result = make_allocator({.instance = instance_->handle(),
                           .physical_device = physical_device,
                           .device = handle_,
                           .functions = functions_,
                           .api_version = snapshot_.api_version},
                          allocator_);
  if (result != VK_SUCCESS) {
    allocator_ = VK_NULL_HANDLE;
    return std::unexpected(error(result, "make an allocator"));
  }
  return {};
}

Device::~Device() {
  if (!abandoned_work_ends()) {
    // Vulkan cannot end running work, and destroying what it uses would crash: what belongs to it
    // stays for the rest of the process.
    new std::vector<Abandoned>(std::move(abandoned_));
    new std::shared_ptr<Instance>(std::move(instance_));
    return;
  }
  abandoned_.clear();
  if (allocator_ != VK_NULL_HANDLE) vmaDestroyAllocator(allocator_);
  if (handle_ != VK_NULL_HANDLE) functions_.vkDestroyDevice(handle_, nullptr);
}

std::uint32_t Device::timestamp_bits() const {
  return snapshot_.queue_families[queue_family_].timestamp_bits;
}

Error Device::error(VkResult result, std::string_view action, ErrorCode otherwise) const {
  return vulkan_error(result, action, snapshot_.name, otherwise);
}

Result<void> Device::submit(VkCommandBuffer commands, VkFence signalled) {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  const std::lock_guard lock(queue_mutex_);
  free_finished();
  const VkResult result = functions_.vkQueueSubmit(queue_, 1, &info, signalled);
  if (result != VK_SUCCESS) return std::unexpected(error(result, "submit work"));
  return {};
}

Result<void> Device::wait(VkFence fence, std::chrono::nanoseconds timeout) const {
  const VkResult result =
      functions_.vkWaitForFences(handle_, 1, &fence, VK_TRUE, vulkan_timeout(timeout));
  if (result == VK_SUCCESS) return {};
  Error failed = error(result, "finish the work");
  if (result == VK_TIMEOUT) failed.message = "The program did not finish within the timeout.";
  return std::unexpected(std::move(failed));
}

void Device::abandon(VkFence fence, std::shared_ptr<void> resources) {
  const std::lock_guard lock(queue_mutex_);
  free_finished();
  abandoned_.push_back({fence, std::move(resources)});
}

void Device::free_finished() {
  std::erase_if(abandoned_, [&](const Abandoned& work) {
    return has_ended(functions_.vkGetFenceStatus(handle_, work.fence));
  });
}

bool Device::abandoned_work_ends() const {
  return std::all_of(abandoned_.begin(), abandoned_.end(), [&](const Abandoned& work) {
    return has_ended(
        functions_.vkWaitForFences(handle_, 1, &work.fence, VK_TRUE, vulkan_timeout(kGrace)));
  });
}

}  // namespace felsite::vk
