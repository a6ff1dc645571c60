// The pipeline of a kernel on a device, with its layouts.
#pragma once

#include <vector>

#include "felsite/kernel.h"
#include "vk/device/device.h"

namespace felsite::vk {

struct Pipeline {
  bool pushes_descriptors = false;  // instead of descriptor sets
  Owned<VkDescriptorSetLayout> set_layout;
  Owned<VkPipelineLayout> layout;
  Owned<VkPipeline> pipeline;
};

// All bindings of the kernel's descriptor set: its buffers, then status and parameters if it has
// them.
std::vector<std::uint32_t> bindings_of(const codegen::Kernel& kernel);
// The size of its push constants.
std::uint32_t push_constant_bytes(const codegen::Kernel& kernel);

// UnsupportedFeature if the kernel was lowered for more than the device's mask,
// KernelCompileFailed if the driver refuses it.
Result<Pipeline> make_pipeline(const Device& device, const codegen::Kernel& kernel,
                               std::string_view name, VkPipelineCache cache = VK_NULL_HANDLE);

}  // namespace felsite::vk
