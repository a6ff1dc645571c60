// One instance for the whole process, open as long as somebody uses it, since making one loads
// every driver of the machine. Or an instance of the caller.
#pragma once

#include <vulkan/vulkan.h>

#include <atomic>
#include <memory>
#include <vector>

#include "felsite/error.h"
#include "vk/instance/instance_functions.h"
#include "vk/instance/validation.h"

namespace felsite::vk {

class Instance {
 public:
  // The one that is open, or a new one.
  static Result<std::shared_ptr<Instance>> shared();
  // Wraps an instance of the caller, which is not destroyed with this object. `from` null: the
  // system's loader.
  static Result<std::shared_ptr<Instance>> adopt(VkInstance handle, PFN_vkGetInstanceProcAddr from,
                                                 bool debug_utils);
  ~Instance();
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;

  VkInstance handle() const { return handle_; }
  const InstanceFunctions& functions() const { return functions_; }
  // Replaces functions while no device is open, to inject faults.
  void edit_functions(void (*edit)(InstanceFunctions& functions)) { edit(functions_); }
  Result<std::vector<VkPhysicalDevice>> physical_devices() const;
  // Keeps it for the rest of the process, because work that never ends uses one of its devices.
  void leave_open() { stays_open_ = true; }
  // Whether the validation layer is on and its messages are collected.
  bool validated() const { return messenger_ != VK_NULL_HANDLE; }
  // Whether objects can be given names for debuggers and profilers: VK_EXT_debug_utils is on.
  bool names_objects() const { return names_objects_; }
  // Whether steps can be labelled as well; older validation layers crash on it.
  bool labels_steps() const { return labels_steps_; }

 private:
  Instance() = default;
  Result<void> create();

  VkInstance handle_ = VK_NULL_HANDLE;
  InstanceFunctions functions_;
  bool adopted_ = false;
  std::atomic<bool> stays_open_ = false;
  bool names_objects_ = false;
  bool labels_steps_ = false;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
};

}  // namespace felsite::vk
