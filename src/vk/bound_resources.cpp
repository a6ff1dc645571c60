#include "vk/bound_resources.h"

#include <fmt/format.h>

#include <algorithm>

#include "vk/vulkan_error.h"

namespace felsite::vk {
namespace {

using codegen::Kernel;
using codegen::Parameter;
using codegen::ParameterKind;
using Words = std::vector<std::uint32_t>;

Result<void> check_grid(const Device& device, const Launch& launch) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t most = device.capabilities().limits.workgroup_count[axis];
    if (launch.grid[axis] <= most) continue;
    return std::unexpected(
        over_limit(fmt::format("The grid has {} workgroups on axis {}; the device takes {}.",
                               launch.grid[axis], "xyz"[axis], most),
                   "use fewer workgroups on that axis, or larger ones.", device.snapshot().name,
                   launch.grid[axis], most));
  }
  return {};
}

Result<Words> parameter_words(const KernelOnDevice& on, const dispatch::BindingPlan& plan,
                              const Launch& launch) {
  Words words;
  for (const Parameter& parameter : on.kernel.parameters) {
    switch (parameter.kind) {
      case ParameterKind::Grid:
        words.push_back(launch.grid[parameter.ref]);
        break;
      case ParameterKind::Length:
        words.push_back(static_cast<std::uint32_t>(plan.buffers[parameter.ref].count));
        break;
      case ParameterKind::Variable: {
        const auto given = std::find_if(
            launch.variables.begin(), launch.variables.end(),
            [&](const VariableValue& value) { return value.variable == parameter.ref; });
        if (given == launch.variables.end()) {
          return std::unexpected(
              Error{.code = ErrorCode::BadInputs,
                    .message = fmt::format("The variable `{}` was given no value.",
                                           on.program.var_name(parameter.ref)),
                    .fix = "give each variable that the segment takes from outside a value.",
                    .context = {}});
        }
        words.push_back(given->value);
        break;
      }
    }
  }
  return words;
}

Result<void> make_buffers(BoundResources& bound, const Words& parameters) {
  const KernelOnDevice& on = *bound.kernel;
  bound.buffers.reserve(on.kernel.buffers.size());
  const auto make = [&](std::uint64_t bytes) { return HostBuffer::make(on.device, bytes); };
  for (const codegen::BufferBinding& binding : on.kernel.buffers) {
    auto buffer = make(bound.plan.buffers[binding.buffer].bytes);
    if (!buffer) return std::unexpected(std::move(buffer.error()));
    bound.buffers.push_back(std::move(*buffer));
  }
  if (on.kernel.status_binding) {
    auto status = make(sizeof(codegen::Status));
    if (!status) return std::unexpected(std::move(status.error()));
    bound.status.emplace(std::move(*status));
  }
  if (on.kernel.parameter_binding) {
    auto block = make(parameters.size() * sizeof(std::uint32_t));
    if (!block) return std::unexpected(std::move(block.error()));
    bound.parameters.emplace(std::move(*block));
    return bound.parameters->write(std::as_bytes(std::span(parameters)));
  }
  return {};
}

// In the order of bindings_of.
std::vector<VkDescriptorBufferInfo> ranges_of(const BoundResources& bound) {
  std::vector<VkDescriptorBufferInfo> ranges;
  const auto add = [&](const HostBuffer& buffer) {
    ranges.push_back({buffer.handle(), 0, buffer.range()});
  };
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const bool empty = bound.plan.buffers[bound.kernel->kernel.buffers[i].buffer].bytes == 0;
    if (empty && bound.kernel->kernel.needs_robust_access2) {
      ranges.push_back({VK_NULL_HANDLE, 0, VK_WHOLE_SIZE});
    } else {
      add(bound.buffers[i]);
    }
  }
  if (bound.status) add(*bound.status);
  if (bound.parameters) add(*bound.parameters);
  return ranges;
}

Result<void> make_descriptor_set(BoundResources& bound) {
  const KernelOnDevice& on = *bound.kernel;
  const VolkDeviceTable& functions = on.device.functions();
  const std::vector<std::uint32_t> bindings = bindings_of(on.kernel);
  if (bindings.empty()) return {};
  VkDescriptorPoolSize size{};
  size.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  size.descriptorCount = static_cast<std::uint32_t>(bindings.size());
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = 1;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  auto pool = on.device.make<VkDescriptorPool>(functions.vkCreateDescriptorPool,
                                               functions.vkDestroyDescriptorPool, info,
                                               "make a descriptor pool");
  if (!pool) return std::unexpected(std::move(pool.error()));
  bound.descriptor_pool = std::move(*pool);

  const VkDescriptorSetLayout layout = on.pipeline.set_layout.get();
  VkDescriptorSetAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocation.descriptorPool = bound.descriptor_pool.get();
  allocation.descriptorSetCount = 1;
  allocation.pSetLayouts = &layout;
  const VkResult result =
      functions.vkAllocateDescriptorSets(on.device.handle(), &allocation, &bound.descriptor_set);
  if (result != VK_SUCCESS) {
    return std::unexpected(on.device.error(result, "allocate a descriptor set"));
  }
  const std::vector<VkDescriptorBufferInfo> ranges = ranges_of(bound);
  std::vector<VkWriteDescriptorSet> writes(bindings.size());
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = bound.descriptor_set;
    writes[i].dstBinding = bindings[i];
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &ranges[i];
  }
  functions.vkUpdateDescriptorSets(on.device.handle(), static_cast<std::uint32_t>(writes.size()),
                                   writes.data(), 0, nullptr);
  return {};
}

Result<void> make_timestamps(BoundResources& bound) {
  const Device& device = bound.kernel->device;
  VkQueryPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO;
  info.queryType = VK_QUERY_TYPE_TIMESTAMP;
  info.queryCount = 2;
  auto pool =
      device.make<VkQueryPool>(device.functions().vkCreateQueryPool,
                               device.functions().vkDestroyQueryPool, info, "make a query pool");
  if (!pool) return std::unexpected(std::move(pool.error()));
  bound.timestamps = std::move(*pool);
  return {};
}

Result<void> make_commands_and_fence(BoundResources& bound) {
  const Device& device = bound.kernel->device;
  const VolkDeviceTable& functions = device.functions();
  VkCommandPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  info.queueFamilyIndex = device.queue_family();
  auto pool = device.make<VkCommandPool>(
      functions.vkCreateCommandPool, functions.vkDestroyCommandPool, info, "make a command pool");
  if (!pool) return std::unexpected(std::move(pool.error()));
  bound.command_pool = std::move(*pool);

  VkCommandBufferAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocation.commandPool = bound.command_pool.get();
  allocation.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocation.commandBufferCount = 1;
  const VkResult result =
      functions.vkAllocateCommandBuffers(device.handle(), &allocation, &bound.commands);
  if (result != VK_SUCCESS) {
    return std::unexpected(device.error(result, "allocate a command buffer"));
  }
  VkFenceCreateInfo fence_info{};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  auto fence = device.make<VkFence>(functions.vkCreateFence, functions.vkDestroyFence, fence_info,
                                    "make a fence");
  if (!fence) return std::unexpected(std::move(fence.error()));
  bound.fence = std::move(*fence);
  return {};
}

void record_barrier(const BoundResources& bound, VkPipelineStageFlags from_stage,
                    VkPipelineStageFlags to_stage, VkAccessFlags to_access) {
  VkMemoryBarrier barrier{};
  barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  barrier.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  barrier.dstAccessMask = to_access;
  bound.kernel->device.functions().vkCmdPipelineBarrier(bound.commands, from_stage, to_stage, 0, 1,
                                                        &barrier, 0, nullptr, 0, nullptr);
}

Result<void> record(const BoundResources& bound, const Words& parameters, const Launch& launch) {
  const KernelOnDevice& on = *bound.kernel;
  const VolkDeviceTable& functions = on.device.functions();
  const VkCommandBuffer commands = bound.commands;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  VkResult result = functions.vkBeginCommandBuffer(commands, &begin);
  if (result != VK_SUCCESS) return std::unexpected(on.device.error(result, "record commands"));

  // A submission reads what an earlier one of the same commands wrote. Submitting makes the writes
  // of the host visible, but not those.
  record_barrier(bound, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                 VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT);
  functions.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, on.pipeline.pipeline.get());
  if (bound.descriptor_set != VK_NULL_HANDLE) {
    functions.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                      on.pipeline.layout.get(), 0, 1, &bound.descriptor_set, 0,
                                      nullptr);
  }
  if (const std::uint32_t bytes = push_constant_bytes(on.kernel); bytes != 0) {
    functions.vkCmdPushConstants(commands, on.pipeline.layout.get(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                                 bytes, parameters.data());
  }
  const VkQueryPool timestamps = bound.timestamps.get();
  if (timestamps != VK_NULL_HANDLE) {
    functions.vkCmdResetQueryPool(commands, timestamps, 0, 2);
    functions.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, timestamps, 0);
  }
  functions.vkCmdDispatch(commands, launch.grid[0], launch.grid[1], launch.grid[2]);
  if (timestamps != VK_NULL_HANDLE) {
    functions.vkCmdWriteTimestamp(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, timestamps, 1);
  }
  // The host also writes: it clears the status before the next submission.
  record_barrier(bound, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                 VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
  result = functions.vkEndCommandBuffer(commands);
  if (result != VK_SUCCESS) return std::unexpected(on.device.error(result, "record commands"));
  return {};
}

}  // namespace

Error KernelOnDevice::with_context(Error error) const {
  error.context.program = program.name();
  error.context.device = device.snapshot().name;
  return error;
}

Result<std::shared_ptr<BoundResources>> make_bound_resources(
    std::shared_ptr<const KernelOnDevice> kernel, dispatch::BindingPlan plan,
    const Launch& launch) {
  const Device& device = kernel->device;
  if (auto fits = check_grid(device, launch); !fits) {
    return std::unexpected(std::move(fits.error()));
  }
  const auto parameters = parameter_words(*kernel, plan, launch);
  if (!parameters) return std::unexpected(parameters.error());
  auto bound = std::make_shared<BoundResources>();
  bound->kernel = std::move(kernel);
  bound->plan = std::move(plan);
  Result<void> step = make_buffers(*bound, *parameters);
  if (step) step = make_descriptor_set(*bound);
  if (step && launch.measure_device_time && device.timestamp_bits() != 0) {
    step = make_timestamps(*bound);
  }
  if (step) step = make_commands_and_fence(*bound);
  if (step) step = record(*bound, *parameters, launch);
  if (!step) return std::unexpected(std::move(step.error()));
  return bound;
}

}  // namespace felsite::vk
