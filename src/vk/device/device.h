// An open device: logical device, queues, allocator. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "felsite/error.h"
#include "vk/device/vma.h"
#include "vk/instance/debug_names.h"
#include "vk/instance/handles.h"
#include "vk/instance/instance.h"
#include "vk/plan/device_plan.h"
#include "vk/plan/device_snapshot.h"

namespace felsite {
struct VulkanInterop;
}

namespace felsite::vk {

// Replaces functions of the device before anything is made with them, to inject faults.
using EditFunctions = void (*)(DeviceFunctions& functions);

class Device {
 public:
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceSnapshot& snapshot() const { return snapshot_; }
  const DevicePlan& plan() const { return plan_; }
  bool has(RuntimeFeature feature) const { return plan_.has(feature); }
  // The mask in force: modules lowered under it run here.
  const codegen::Capabilities& capabilities() const { return plan_.capabilities; }
  const Instance& instance() const { return *instance_; }
  // Whether the caller owns it, see felsite/vulkan_interop.h.
  bool is_adopted() const { return adopted_; }

  VkDevice handle() const { return handle_; }
  // Functions of extensions that became core have their core names.
  const DeviceFunctions& functions() const { return functions_; }
  VmaAllocator allocator() const { return allocator_; }
  std::uint32_t queue_family() const { return plan_.compute_family; }
  // Both are used under the mutex. They are the same queue if the plan has no separate queue for
  // copies.
  VkQueue compute_queue() const { return queue_; }
  VkQueue transfer_queue() const { return transfer_queue_; }
  std::mutex& queue_mutex() { return callers_mutex_ == nullptr ? own_mutex_ : *callers_mutex_; }
  // One or two distinct families, which share the buffers that both queues use.
  std::span<const std::uint32_t> queue_families() const { return queue_families_; }
  const QueueFamily& compute_family() const {
    return snapshot_.queue_families[plan_.compute_family];
  }
  std::uint32_t timestamp_bits() const { return compute_family().timestamp_bits; }

  Error error(VkResult result, std::string_view action,
              ErrorCode otherwise = ErrorCode::DispatchFailed) const;

  // Makes an object with a create function of the table: (device, info, allocator, handle out).
  template <class Handle, class Info, class Create>
  Result<Owned<Handle>> make(Create create, typename Owned<Handle>::Destroy destroy,
                             const Info& info, const ObjectName& what) const {
    Handle handle = VK_NULL_HANDLE;
    const VkResult result = create(handle_, &info, nullptr, &handle);
    if (result != VK_SUCCESS) {
      return std::unexpected(error(result, "make " + std::string(kind_of(handle).noun)));
    }
    return own(handle, destroy, what);
  }
  // The same for an object that exists already.
  template <class Handle>
  Owned<Handle> own(Handle handle, typename Owned<Handle>::Destroy destroy,
                    const ObjectName& what) const {
    name(handle, what);
    return Owned<Handle>(handle_, handle, destroy);
  }
  // For objects that are not owned by an Owned.
  template <class Handle>
  void name(Handle handle, const ObjectName& what) const {
    name_object(*instance_, handle_, kind_of(handle).type, reinterpret_cast<std::uint64_t>(handle),
                what);
  }

  // Vulkan cannot stop running work, and destroying what it uses would crash, so the device stays
  // open for the rest of the process.
  void leave_open() { stays_open_ = true; }

 private:
  friend Result<std::unique_ptr<Device>> open_device(const DeviceWish& wish, EditFunctions edit);
  friend Result<std::unique_ptr<Device>> adopt_device(const VulkanInterop& interop,
                                                      const std::string& mask);
  Device() = default;
  Result<void> create();
  Result<void> prepare(EditFunctions edit);

  std::shared_ptr<Instance> instance_;
  DeviceSnapshot snapshot_;
  DevicePlan plan_;
  VkPhysicalDevice physical_device_ = VK_NULL_HANDLE;
  VkDevice handle_ = VK_NULL_HANDLE;
  bool adopted_ = false;  // the caller owns device and queue
  DeviceFunctions functions_{};
  VmaAllocator allocator_ = VK_NULL_HANDLE;
  std::vector<std::uint32_t> queue_families_;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkQueue transfer_queue_ = VK_NULL_HANDLE;
  std::mutex own_mutex_;
  std::mutex* callers_mutex_ = nullptr;
  bool stays_open_ = false;
};

// Everything made with the device must be destroyed before it.
Result<std::unique_ptr<Device>> open_device(const DeviceWish& wish = {},
                                            EditFunctions edit = nullptr);

// Uses a caller's device, with what the caller says it turned on: felsite/vulkan_interop.h has the
// rule. The mask is that of a wish.
Result<std::unique_ptr<Device>> adopt_device(const VulkanInterop& interop,
                                             const std::string& mask = {});

// All devices of the machine, including those that cannot be opened.
Result<std::vector<DeviceSnapshot>> list_devices();

// A wish that names no device means the one that FELSITE_DEVICE names, if that is set.
DeviceWish with_environment(DeviceWish wish);

}  // namespace felsite::vk
