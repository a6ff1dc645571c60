#include "vk/record/descriptors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/try.h"
#include "vk/instance/vulkan_error.h"

namespace felsite::vk {
namespace {

std::vector<VkWriteDescriptorSet> writes_of(const Binding& binding, VkDescriptorSet set) {
  const std::vector<std::uint32_t> places = bindings_of(binding.kernel->kernel);
  std::vector<VkWriteDescriptorSet> writes(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    writes[i].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    writes[i].dstSet = set;
    writes[i].dstBinding = places[i];
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &binding.ranges[i];
  }
  return writes;
}

VkDescriptorBufferInfo range_of(const BufferSlice& slice, const codegen::Kernel& kernel) {
  const std::uint64_t bytes = bound_bytes(slice, kernel);
  if (bytes == 0) return {VK_NULL_HANDLE, 0, VK_WHOLE_SIZE};
  return {slice.buffer->handle(), slice.offset, bytes};
}

}  // namespace

bool Binding::same_buffers(const Binding& other) const {
  return kernel == other.kernel &&
         std::ranges::equal(ranges, other.ranges,
                            [](const VkDescriptorBufferInfo& a, const VkDescriptorBufferInfo& b) {
                              return a.buffer == b.buffer && a.offset == b.offset &&
                                     a.range == b.range;
                            });
}

Binding binding_of(const KernelStep& step, const ControlBlocks& blocks, std::size_t part,
                   VkBuffer control) {
  const codegen::Kernel& kernel = step.kernel->kernel;
  Binding binding{.kernel = step.kernel.get(), .ranges = {}};
  for (const BufferSlice& slice : step.buffers) binding.ranges.push_back(range_of(slice, kernel));
  if (kernel.status_binding) {
    binding.ranges.push_back({control, *blocks.status, blocks.status_range});
  }
  if (kernel.parameter_binding) {
    binding.ranges.push_back(
        {control, blocks.parameters[part], step.parameters.size() * sizeof(std::uint32_t)});
  }
  return binding;
}

Result<void> check_ranges(const Device& device, const KernelStep& step) {
  const std::uint64_t longest = device.snapshot().limits.storage_buffer_range;
  for (std::size_t i = 0; i < step.buffers.size(); ++i) {
    const std::uint64_t bytes = step.buffers[i].bytes;
    if (bytes <= longest) continue;
    const ir::BufferId id = step.kernel->kernel.buffers[i].buffer;
    return std::unexpected(step.kernel->with_context(
        over_limit(fmt::format("Buffer `{}` takes {} bytes; the device binds at most {}.",
                               step.kernel->program.buffer(id).name, bytes, longest),
                   "split the data over several buffers, or choose another device.",
                   device.snapshot().name, bytes, longest)));
  }
  return {};
}

DescriptorSets::Key DescriptorSets::key_of(const Binding& binding) {
  Key key{reinterpret_cast<std::uint64_t>(binding.kernel)};
  for (const VkDescriptorBufferInfo& range : binding.ranges) {
    key.push_back(reinterpret_cast<std::uint64_t>(range.buffer));
    key.push_back(range.offset);
    key.push_back(range.range);
  }
  return key;
}

Result<DescriptorSets> DescriptorSets::make(const Device& device,
                                            const std::vector<Binding>& bindings,
                                            std::string_view name) {
  DescriptorSets sets(device);
  std::vector<const Binding*> needed;
  for (const Binding& binding : bindings) {
    if (binding.ranges.empty() || binding.kernel->pipeline.pushes_descriptors) continue;
    if (sets.sets_.emplace(key_of(binding), VK_NULL_HANDLE).second) needed.push_back(&binding);
  }
  if (needed.empty()) return sets;
  FELSITE_CHECK(sets.make_pool(needed, name));
  FELSITE_CHECK(sets.allocate(needed, name));
  return sets;
}

Result<void> DescriptorSets::make_pool(const std::vector<const Binding*>& bindings,
                                       std::string_view name) {
  VkDescriptorPoolSize size{};
  size.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
  for (const Binding* binding : bindings) {
    size.descriptorCount += static_cast<std::uint32_t>(binding->ranges.size());
  }
  VkDescriptorPoolCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  info.maxSets = static_cast<std::uint32_t>(bindings.size());
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  const DeviceFunctions& functions = device_->functions();
  FELSITE_TRY(pool_,
              device_->make<VkDescriptorPool>(functions.vkCreateDescriptorPool,
                                              functions.vkDestroyDescriptorPool, info, name));
  return {};
}

Result<void> DescriptorSets::allocate(const std::vector<const Binding*>& bindings,
                                      std::string_view name) {
  const DeviceFunctions& functions = device_->functions();
  std::vector<VkDescriptorSetLayout> layouts;
  for (const Binding* binding : bindings) {
    layouts.push_back(binding->kernel->pipeline.set_layout.get());
  }
  VkDescriptorSetAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  info.descriptorPool = pool_.get();
  info.descriptorSetCount = static_cast<std::uint32_t>(layouts.size());
  info.pSetLayouts = layouts.data();
  std::vector<VkDescriptorSet> sets(layouts.size());
  const VkResult result = functions.vkAllocateDescriptorSets(device_->handle(), &info, sets.data());
  if (result != VK_SUCCESS) {
    return std::unexpected(device_->error(result, "allocate descriptor sets"));
  }
  for (std::size_t i = 0; i < bindings.size(); ++i) {
    device_->name(sets[i], {name, bindings[i]->kernel->program.name()});
    const std::vector<VkWriteDescriptorSet> writes = writes_of(*bindings[i], sets[i]);
    functions.vkUpdateDescriptorSets(device_->handle(), static_cast<std::uint32_t>(writes.size()),
                                     writes.data(), 0, nullptr);
    sets_[key_of(*bindings[i])] = sets[i];
  }
  return {};
}

void DescriptorSets::bind(VkCommandBuffer commands, const Binding& binding) const {
  if (binding.ranges.empty()) return;
  const Pipeline& pipeline = binding.kernel->pipeline;
  const DeviceFunctions& functions = device_->functions();
  if (pipeline.pushes_descriptors) {
    const std::vector<VkWriteDescriptorSet> writes = writes_of(binding, VK_NULL_HANDLE);
    functions.vkCmdPushDescriptorSetKHR(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                        pipeline.layout.get(), 0,
                                        static_cast<std::uint32_t>(writes.size()), writes.data());
    return;
  }
  const VkDescriptorSet set = sets_.at(key_of(binding));
  functions.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout.get(),
                                    0, 1, &set, 0, nullptr);
}

}  // namespace felsite::vk
