// Names for the eyes of debuggers and validation layers: of objects, and of the steps in a command
// buffer. Where the instance has no VK_EXT_debug_utils they cost nothing.
#pragma once

#include <string_view>

#include "vk/device.h"

namespace felsite::vk {

void name_object(const Device& device, VkObjectType type, std::uint64_t handle,
                 std::string_view name);

template <class Handle>
void name_object(const Device& device, VkObjectType type, Handle handle, std::string_view name) {
  name_object(device, type, reinterpret_cast<std::uint64_t>(handle), name);
}

// Marks what is recorded between construction and destruction.
class StepLabel {
 public:
  StepLabel(const Device& device, VkCommandBuffer commands, std::string_view name);
  ~StepLabel();
  StepLabel(const StepLabel&) = delete;
  StepLabel& operator=(const StepLabel&) = delete;

 private:
  const Device& device_;
  VkCommandBuffer commands_;
  bool open_;
};

}  // namespace felsite::vk
