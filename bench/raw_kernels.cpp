#include "raw_kernels.h"

namespace felsite::bench {

RawKernels::RawKernels(SharedRawDevice device, std::span<const std::vector<std::uint32_t>> modules,
                       std::span<const std::uint64_t> buffer_bytes, std::uint32_t parameters)
    : device_(std::move(device)) {
  const RawInterface interface { static_cast<std::uint32_t>(buffer_bytes.size()), parameters };
  // Layouts that are alike are compatible: what is bound and pushed for one kernel stays for all.
  for (const auto& module : modules) {
    kernels_.push_back(std::make_unique<RawKernel>(device_, module, VK_NULL_HANDLE, interface));
  }
  for (const std::uint64_t bytes : buffer_bytes) {
    buffers_.push_back(std::make_unique<RawBuffer>(device_, bytes));
  }
  make_set(interface);
  const RawDeviceFunctions& vk = device_->vk;
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = device_->family;
  check_raw(vk.vkCreateCommandPool(device_->handle, &pool_info, nullptr, &pool_),
            "vkCreateCommandPool");
  VkCommandBufferAllocateInfo one{};
  one.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  one.commandPool = pool_;
  one.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  one.commandBufferCount = 1;
  check_raw(vk.vkAllocateCommandBuffers(device_->handle, &one, &commands_),
            "vkAllocateCommandBuffers");
  VkFenceCreateInfo fence_info{};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  check_raw(vk.vkCreateFence(device_->handle, &fence_info, nullptr, &fence_), "vkCreateFence");
}

RawKernels::~RawKernels() {
  device_->vk.vkDestroyFence(device_->handle, fence_, nullptr);
  device_->vk.vkDestroyCommandPool(device_->handle, pool_, nullptr);
  device_->vk.vkDestroyDescriptorPool(device_->handle, descriptors_, nullptr);
}

void RawKernels::make_set(const RawInterface& interface) {
  const RawDeviceFunctions& vk = device_->vk;
  const VkDescriptorPoolSize size{.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .descriptorCount = interface.buffers};
  VkDescriptorPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool_info.maxSets = 1;
  pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &size;
  check_raw(vk.vkCreateDescriptorPool(device_->handle, &pool_info, nullptr, &descriptors_),
            "vkCreateDescriptorPool");
  VkDescriptorSetAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocation.descriptorPool = descriptors_;
  allocation.descriptorSetCount = 1;
  allocation.pSetLayouts = &kernels_[0]->set_layout;
  check_raw(vk.vkAllocateDescriptorSets(device_->handle, &allocation, &set_),
            "vkAllocateDescriptorSets");
  for (std::uint32_t i = 0; i < interface.buffers; ++i) {
    const VkDescriptorBufferInfo buffer{
        .buffer = buffers_[i]->handle, .offset = 0, .range = VK_WHOLE_SIZE};
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = set_;
    write.dstBinding = i;
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &buffer;
    vk.vkUpdateDescriptorSets(device_->handle, 1, &write, 0, nullptr);
  }
}

void RawKernels::record(const std::function<void()>& commands) {
  const RawDeviceFunctions& vk = device_->vk;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  check_raw(vk.vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
  vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernels_[0]->layout, 0, 1,
                             &set_, 0, nullptr);
  commands();
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
  vk.vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &memory, 0, nullptr, 0, nullptr);
  check_raw(vk.vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
}

void RawKernels::fill_with_zeros(std::size_t buffer) {
  const RawDeviceFunctions& vk = device_->vk;
  vk.vkCmdFillBuffer(commands_, buffers_[buffer]->handle, 0, VK_WHOLE_SIZE, 0);
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  vk.vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_TRANSFER_BIT,
                          VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &memory, 0, nullptr, 0,
                          nullptr);
}

void RawKernels::use_kernel(std::size_t kernel) {
  device_->vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE,
                                kernels_[kernel]->pipeline);
}

void RawKernels::push(std::uint32_t first, std::span<const std::uint32_t> words) {
  device_->vk.vkCmdPushConstants(commands_, kernels_[0]->layout, VK_SHADER_STAGE_COMPUTE_BIT,
                                 first * 4, static_cast<std::uint32_t>(words.size_bytes()),
                                 words.data());
}

void RawKernels::dispatch(std::uint32_t columns, std::uint32_t rows) {
  device_->vk.vkCmdDispatch(commands_, columns, rows, 1);
}

void RawKernels::barrier(bool for_conditions) {
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  VkPipelineStageFlags to = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  if (for_conditions) {
    memory.dstAccessMask |= VK_ACCESS_CONDITIONAL_RENDERING_READ_BIT_EXT;
    to |= VK_PIPELINE_STAGE_CONDITIONAL_RENDERING_BIT_EXT;
  }
  device_->vk.vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, to, 0, 1,
                                   &memory, 0, nullptr, 0, nullptr);
}

void RawKernels::begin_condition(std::size_t buffer, std::uint64_t offset) {
  VkConditionalRenderingBeginInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT;
  info.buffer = buffers_[buffer]->handle;
  info.offset = offset;
  device_->vk.vkCmdBeginConditionalRenderingEXT(commands_, &info);
}

void RawKernels::end_condition() { device_->vk.vkCmdEndConditionalRenderingEXT(commands_); }

void RawKernels::submit() { device_->submit(commands_, fence_); }

void RawKernels::wait() { device_->wait(fence_); }

void RawKernels::run() {
  submit();
  wait();
}

}  // namespace felsite::bench
