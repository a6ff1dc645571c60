#include "vk/device/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/telemetry/environment.h"
#include "dispatch/telemetry/warnings.h"
#include "vk/instance/vulkan_error.h"
#include "vk/plan/feature_chain.h"

namespace felsite::vk {
namespace {

std::vector<DeviceSnapshot> read_snapshots(const Instance& instance,
                                           std::span<const VkPhysicalDevice> devices) {
  std::vector<DeviceSnapshot> snapshots;
  for (const VkPhysicalDevice device : devices) {
    snapshots.push_back(read_snapshot(device, instance.functions()));
  }
  return snapshots;
}

std::vector<std::uint32_t> families_of(const DevicePlan& plan) {
  std::vector<std::uint32_t> families{plan.compute_family};
  const std::uint32_t transfer = plan.transfer_family.value_or(plan.compute_family);
  if (transfer != plan.compute_family) families.push_back(transfer);
  return families;
}

// Names the allocator's blocks; a buffer with a dedicated block renames it afterwards.
void VKAPI_PTR name_block(VmaAllocator, std::uint32_t type, VkDeviceMemory memory, VkDeviceSize,
                          void* device) {
  // The allocator calls this, and no exception may pass through it.
  base::best_effort([&] {
    static_cast<const Device*>(device)->name(memory, fmt::format("memory of type {}", type));
  });
}

}  // namespace

Result<std::vector<DeviceSnapshot>> list_devices() {
  FELSITE_TRY(auto instance, Instance::shared());
  FELSITE_TRY(auto devices, instance->physical_devices());
  return read_snapshots(*instance, devices);
}

DeviceWish with_environment(DeviceWish wish) {
  if (wish.device.empty()) {
    wish.device = dispatch::environment(dispatch::Variable::Device).value_or("");
  }
  return wish;
}

Result<std::unique_ptr<Device>> open_device(const DeviceWish& wish, EditFunctions edit) {
  FELSITE_TRY(auto instance, Instance::shared());
  FELSITE_TRY(const auto physical, instance->physical_devices());
  const auto snapshots = read_snapshots(*instance, physical);
  auto plan = plan_device(snapshots, with_environment(wish));
  if (!plan) return std::unexpected(std::move(plan.error()));
  if (!plan->warning.empty()) dispatch::warn(plan->warning);

  std::unique_ptr<Device> device(new Device);
  device->instance_ = std::move(instance);
  device->snapshot_ = snapshots[plan->device];
  device->plan_ = std::move(*plan);
  device->physical_device_ = physical[device->plan_.device];
  Result<void> step = device->create();
  if (step) step = device->prepare(edit);
  if (!step) return std::unexpected(std::move(step.error()));
  return device;
}

Result<void> Device::create() {
  DeviceSnapshot opened = snapshot_;
  opened.extensions = plan_.extensions;
  FeatureChain features(opened);
  features.write(plan_.features);
  std::vector<const char*> extensions;
  extensions.reserve(plan_.extensions.size());
  for (const std::string& name : plan_.extensions) extensions.push_back(name.c_str());
  const float priority = 1;
  std::vector<VkDeviceQueueCreateInfo> queues;
  for (const std::uint32_t family : families_of(plan_)) {
    VkDeviceQueueCreateInfo& queue = queues.emplace_back();
    queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queue.queueFamilyIndex = family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
  }
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.pNext = features.head();
  info.queueCreateInfoCount = static_cast<std::uint32_t>(queues.size());
  info.pQueueCreateInfos = queues.data();
  info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
  info.ppEnabledExtensionNames = extensions.data();
  const VkResult result =
      instance_->functions().create_device(physical_device_, &info, nullptr, &handle_);
  if (result != VK_SUCCESS) {
    handle_ = VK_NULL_HANDLE;
    return std::unexpected(error(result, "open the device", ErrorCode::UnsupportedFeature));
  }
  return {};
}

// Gets what every device needs: functions, queues, allocator.
Result<void> Device::prepare(EditFunctions edit) {
  functions_ = load_device_functions(handle_, instance_->functions().get_device_proc_addr);
  if (edit != nullptr) edit(functions_);
  queue_families_ = families_of(plan_);
  if (!adopted_) functions_.vkGetDeviceQueue(handle_, plan_.compute_family, 0, &queue_);
  transfer_queue_ = queue_;
  if (plan_.transfer_family.value_or(plan_.compute_family) != plan_.compute_family) {
    functions_.vkGetDeviceQueue(handle_, *plan_.transfer_family, 0, &transfer_queue_);
  }
  if (!adopted_) {  // the caller names its own objects
    name(handle_, "felsite");
    name(queue_, "compute queue");
    if (transfer_queue_ != queue_) name(transfer_queue_, "transfer queue");
  }
  const auto on_allocation = instance_->names_objects() ? name_block : nullptr;
  const VkResult result = make_allocator(
      {.instance = instance_->handle(),
       .instance_functions = instance_->functions(),
       .physical_device = physical_device_,
       .device = handle_,
       .functions = functions_,
       .api_version = snapshot_.api_version,
       .memory_budget = has(RuntimeFeature::MemoryBudget),
       .on_allocation = {.pfnAllocate = on_allocation, .pfnFree = nullptr, .pUserData = this}},
      allocator_);
  if (result != VK_SUCCESS) {
    allocator_ = VK_NULL_HANDLE;
    return std::unexpected(error(result, "make an allocator"));
  }
  return {};
}

Device::~Device() {
  if (stays_open_) {
    instance_->leave_open();
    return;
  }
  if (allocator_ != VK_NULL_HANDLE) vmaDestroyAllocator(allocator_);
  if (handle_ != VK_NULL_HANDLE && !adopted_) functions_.vkDestroyDevice(handle_, nullptr);
}

Error Device::error(VkResult result, std::string_view action, ErrorCode otherwise) const {
  return vulkan_error(result, action, snapshot_.name, otherwise);
}

}  // namespace felsite::vk
