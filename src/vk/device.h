// An open device: logical device, one compute queue, allocator. Usable from many threads.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "felsite/capabilities.h"
#include "felsite/error.h"
#include "vk/device_snapshot.h"
#include "vk/handles.h"
#include "vk/instance.h"
#include "vk/vma.h"

namespace felsite::vk {

struct DeviceChoice {
  std::string name_contains{};  // empty: any device; the strongest kind that fits is taken
  // What to turn on and what programs will be lowered under; absent: all that was found. Asking
  // for more than that is an error.
  std::optional<codegen::Capabilities> mask{};
  // Replaces functions of the device before anything is made with them, to inject faults.
  void (*edit_functions)(VolkDeviceTable& functions) = nullptr;
};

class Device {
 public:
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const DeviceSnapshot& snapshot() const { return snapshot_; }
  // The mask in force: modules lowered under it run here.
  const codegen::Capabilities& capabilities() const { return capabilities_; }
  const Instance& instance() const { return *instance_; }

  VkDevice handle() const { return handle_; }
  const VolkDeviceTable& functions() const { return functions_; }
  VmaAllocator allocator() const { return allocator_; }
  std::uint32_t queue_family() const { return queue_family_; }
  std::uint32_t timestamp_bits() const;

  Error error(VkResult result, std::string_view action,
              ErrorCode otherwise = ErrorCode::DispatchFailed) const;

  // Makes an object with a create function of the table: (device, info, allocator, handle out).
  template <class Handle, class Info, class Create>
  Result<Owned<Handle>> make(Create create, typename Owned<Handle>::Destroy destroy,
                             const Info& info, std::string_view action) const {
    Handle handle = VK_NULL_HANDLE;
    const VkResult result = create(handle_, &info, nullptr, &handle);
    if (result != VK_SUCCESS) return std::unexpected(error(result, action));
    return Owned<Handle>(handle_, handle, destroy);
  }

  Result<void> submit(VkCommandBuffer commands, VkFence signalled);
  // VK_TIMEOUT is the error Timeout; the work then still runs.
  Result<void> wait(VkFence fence, std::chrono::nanoseconds timeout) const;
  // Takes over what a submission uses when its owner will not wait for it any longer. `fence` is
  // one of the resources and tells when they may go.
  void abandon(VkFence fence, std::shared_ptr<void> resources);

 private:
  friend Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice);
  struct Abandoned {
    VkFence fence;
    std::shared_ptr<void> resources;
  };

  Device() = default;
  Result<void> create(VkPhysicalDevice physical_device, const DeviceChoice& choice);
  void free_finished();
  bool abandoned_work_ends() const;

  std::shared_ptr<Instance> instance_;
  DeviceSnapshot snapshot_;
  codegen::Capabilities capabilities_;
  VkDevice handle_ = VK_NULL_HANDLE;
  VolkDeviceTable functions_{};
  VmaAllocator allocator_ = VK_NULL_HANDLE;
  std::uint32_t queue_family_ = 0;
  VkQueue queue_ = VK_NULL_HANDLE;
  std::mutex queue_mutex_;  // guards the queue and the list
  std::vector<Abandoned> abandoned_;
};

// Everything made with the device must be gone before it is.
Result<std::unique_ptr<Device>> open_device(const DeviceChoice& choice = {});

// All devices of the machine, also those that cannot be opened.
Result<std::vector<DeviceSnapshot>> list_devices();

}  // namespace felsite::vk
