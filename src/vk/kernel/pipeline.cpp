#include "vk/kernel/pipeline.h"

#include <fmt/format.h>

#include "base/try.h"
#include "vk/instance/vulkan_error.h"

namespace felsite::vk {
namespace {

using codegen::Kernel;

// A driver is free to crash on a kernel that exceeds what it offers.
Result<void> check_fits(const Device& device, const Kernel& kernel) {
  const codegen::DeviceLimits& limits = device.capabilities().limits;
  const std::string_view fix = "lower the program under the capabilities of this device.";
  const auto check = [&](std::string_view what, std::uint64_t requested,
                         std::uint64_t available) -> Result<void> {
    if (requested <= available) return {};
    return std::unexpected(over_limit(
        fmt::format("The kernel takes {} {}; the device has {}.", requested, what, available),
        std::string(fix), device.snapshot().name, requested, available));
  };
  if (kernel.needs_robust_access2 && !device.capabilities().has(codegen::Feature::RobustAccess2)) {
    return std::unexpected(unsupported("The kernel counts on robustBufferAccess2, which is off.",
                                       std::string(fix), device.snapshot().name));
  }
  const auto& [x, y, z] = kernel.workgroup_size;
  const std::uint64_t invocations = std::uint64_t{x} * y * z;
  FELSITE_CHECK(check("invocations a workgroup", invocations, limits.workgroup_invocations));
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::string what = fmt::format("invocations a workgroup on axis {}", "xyz"[axis]);
    FELSITE_CHECK(check(what, kernel.workgroup_size[axis], limits.workgroup_size[axis]));
  }
  FELSITE_CHECK(check("bytes of workgroup memory", kernel.shared_bytes, limits.shared_bytes));
  FELSITE_CHECK(check("storage buffers", bindings_of(kernel).size(), limits.storage_buffers));
  return check("bytes of push constants", push_constant_bytes(kernel), limits.push_constant_bytes);
}

bool can_push(const Device& device, const Kernel& kernel) {
  return device.plan().has(RuntimeFeature::PushDescriptors) &&
         bindings_of(kernel).size() <= device.snapshot().limits.push_descriptors;
}

Result<Owned<VkDescriptorSetLayout>> make_set_layout(const Device& device, const Kernel& kernel,
                                                     bool pushed, std::string_view name) {
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (const std::uint32_t binding : bindings_of(kernel)) {
    bindings.push_back({.binding = binding,
                        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                        .descriptorCount = 1,
                        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
                        .pImmutableSamplers = nullptr});
  }
  VkDescriptorSetLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  if (pushed) info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
  info.bindingCount = static_cast<std::uint32_t>(bindings.size());
  info.pBindings = bindings.data();
  return device.make<VkDescriptorSetLayout>(device.functions().vkCreateDescriptorSetLayout,
                                            device.functions().vkDestroyDescriptorSetLayout, info,
                                            name);
}

Result<Owned<VkPipelineLayout>> make_layout(const Device& device, const Kernel& kernel,
                                            VkDescriptorSetLayout set_layout,
                                            std::string_view name) {
  VkPushConstantRange parameters{};
  parameters.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  parameters.size = push_constant_bytes(kernel);
  VkPipelineLayoutCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  info.setLayoutCount = 1;
  info.pSetLayouts = &set_layout;
  info.pushConstantRangeCount = parameters.size != 0 ? 1 : 0;
  info.pPushConstantRanges = &parameters;
  return device.make<VkPipelineLayout>(device.functions().vkCreatePipelineLayout,
                                       device.functions().vkDestroyPipelineLayout, info, name);
}

Result<Owned<VkPipeline>> make_compute_pipeline(const Device& device, const Kernel& kernel,
                                                VkPipelineLayout layout, VkPipelineCache cache,
                                                std::string_view name) {
  const DeviceFunctions& functions = device.functions();
  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = kernel.words.size() * sizeof(std::uint32_t);
  module_info.pCode = kernel.words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  VkResult result = functions.vkCreateShaderModule(device.handle(), &module_info, nullptr, &module);
  if (result != VK_SUCCESS) {
    return std::unexpected(
        device.error(result, "read the kernel's SPIR-V", ErrorCode::KernelCompileFailed));
  }
  const auto owned_module = device.own(module, functions.vkDestroyShaderModule, name);
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = layout;
  VkPipeline pipeline = VK_NULL_HANDLE;
  result = functions.vkCreateComputePipelines(device.handle(), cache, 1, &info, nullptr, &pipeline);
  if (result != VK_SUCCESS) {
    return std::unexpected(
        device.error(result, "compile the kernel", ErrorCode::KernelCompileFailed));
  }
  return device.own(pipeline, functions.vkDestroyPipeline, name);
}

}  // namespace

std::vector<std::uint32_t> bindings_of(const Kernel& kernel) {
  std::vector<std::uint32_t> bindings;
  for (const codegen::BufferBinding& buffer : kernel.buffers) bindings.push_back(buffer.binding);
  if (kernel.status_binding) bindings.push_back(*kernel.status_binding);
  if (kernel.parameter_binding) bindings.push_back(*kernel.parameter_binding);
  return bindings;
}

std::uint32_t push_constant_bytes(const Kernel& kernel) {
  if (kernel.parameter_binding) return 0;
  return static_cast<std::uint32_t>(kernel.parameters.size() * sizeof(std::uint32_t));
}

Result<Pipeline> make_pipeline(const Device& device, const Kernel& kernel, std::string_view name,
                               VkPipelineCache cache) {
  FELSITE_CHECK(check_fits(device, kernel));
  Pipeline made{.pushes_descriptors = can_push(device, kernel),
                .set_layout = {},
                .layout = {},
                .pipeline = {}};
  FELSITE_TRY(auto set_layout, make_set_layout(device, kernel, made.pushes_descriptors, name));
  made.set_layout = std::move(set_layout);
  FELSITE_TRY(auto layout, make_layout(device, kernel, made.set_layout.get(), name));
  made.layout = std::move(layout);
  FELSITE_TRY(auto pipeline, make_compute_pipeline(device, kernel, made.layout.get(), cache, name));
  made.pipeline = std::move(pipeline);
  return made;
}

}  // namespace felsite::vk
