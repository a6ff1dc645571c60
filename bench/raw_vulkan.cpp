#include "raw_vulkan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "base/try.h"
#include "on_device.h"
#include "vk/device/device.h"
#include "vk/instance/vulkan_error.h"

namespace felsite::bench {
namespace {

constexpr VkMemoryPropertyFlags kShared = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                          VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                          VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

std::optional<std::uint32_t> shared_memory_type(const VkPhysicalDeviceMemoryProperties& memory) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((flags & kShared) != kShared) continue;
    // Reading what is not cached is slow.
    if ((flags & VK_MEMORY_PROPERTY_HOST_CACHED_BIT) != 0) return i;
    if (!found) found = i;
  }
  return found;
}

bool offers_conditions(const RawInstanceFunctions& vk, VkPhysicalDevice physical) {
  std::uint32_t count = 0;
  vk.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, nullptr);
  std::vector<VkExtensionProperties> extensions(count);
  vk.vkEnumerateDeviceExtensionProperties(physical, nullptr, &count, extensions.data());
  return std::ranges::any_of(extensions, [](const VkExtensionProperties& extension) {
    return std::string_view(extension.extensionName) == VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME;
  });
}

VkCommandBufferAllocateInfo one_command_buffer(VkCommandPool pool) {
  VkCommandBufferAllocateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  info.commandPool = pool;
  info.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  info.commandBufferCount = 1;
  return info;
}

}  // namespace

void check_raw(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return;
  give_up(fmt::format("{} gives {}.", call, static_cast<int>(result)));
}

Result<RawChoice> choose_as_felsite() {
  FELSITE_TRY(const auto devices, vk::list_devices());
  FELSITE_TRY(const auto plan, vk::plan_device(devices, vk::with_environment({})));
  return RawChoice{plan.device, plan.compute_family};
}

Result<SharedRawDevice> RawDevice::open() {
  FELSITE_TRY(const auto choice, choose_as_felsite());
  return open(choice);
}

Result<SharedRawDevice> RawDevice::open_with_conditions() {
  FELSITE_TRY(auto choice, choose_as_felsite());
  choice.conditions = true;
  return open(choice);
}

Result<SharedRawDevice> RawDevice::open(const RawChoice& choice) {
  SharedRawDevice device(new RawDevice);
  const VkPhysicalDevice physical = device->find_device(choice.device);
  VkPhysicalDeviceMemoryProperties memory{};
  device->instance_functions_.vkGetPhysicalDeviceMemoryProperties(physical, &memory);
  const auto type = shared_memory_type(memory);
  if (!type) {
    return std::unexpected(vk::unsupported("The host cannot reach the memory of the device.",
                                           "run it on an integrated or a software device.", ""));
  }
  device->family = choice.family;
  device->has_conditions =
      choice.conditions && offers_conditions(device->instance_functions_, physical);
  device->memory_type = *type;
  device->memory_bytes = memory.memoryHeaps[memory.memoryTypes[*type].heapIndex].size;
  device->make_device(physical);
  return device;
}

VkPhysicalDevice RawDevice::find_device(std::size_t position) {
  // Felsite has found a device, so there is a loader.
  const auto create =
      reinterpret_cast<PFN_vkCreateInstance>(raw_loader()(VK_NULL_HANDLE, "vkCreateInstance"));
  VkApplicationInfo application{};
  application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
  info.pApplicationInfo = &application;
  check_raw(create(&info, nullptr, &instance_), "vkCreateInstance");
  instance_functions_ = raw_instance_functions(instance_);
  std::array<VkPhysicalDevice, 16> devices{};
  auto count = static_cast<std::uint32_t>(devices.size());
  check_raw(instance_functions_.vkEnumeratePhysicalDevices(instance_, &count, devices.data()),
            "vkEnumeratePhysicalDevices");
  if (position >= count) check_raw(VK_ERROR_DEVICE_LOST, "vkEnumeratePhysicalDevices");
  return devices[position];
}

void RawDevice::make_device(VkPhysicalDevice physical) {
  const float priority = 1;
  VkDeviceQueueCreateInfo queues{};
  queues.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
  queues.queueFamilyIndex = family;
  queues.queueCount = 1;
  queues.pQueuePriorities = &priority;
  VkDeviceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queues;
  VkPhysicalDeviceConditionalRenderingFeaturesEXT conditions{};
  conditions.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT;
  conditions.conditionalRendering = VK_TRUE;
  const char* const extension = VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME;
  if (has_conditions) {
    info.pNext = &conditions;
    info.enabledExtensionCount = 1;
    info.ppEnabledExtensionNames = &extension;
  }
  check_raw(instance_functions_.vkCreateDevice(physical, &info, nullptr, &handle),
            "vkCreateDevice");
  vk = raw_device_functions(handle, instance_functions_.vkGetDeviceProcAddr);
  vk.vkGetDeviceQueue(handle, family, 0, &queue);
}

RawDevice::~RawDevice() {
  if (handle != VK_NULL_HANDLE) vk.vkDestroyDevice(handle, nullptr);
  instance_functions_.vkDestroyInstance(instance_, nullptr);
}

void RawDevice::submit(VkCommandBuffer commands, VkFence fence) {
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = 1;
  info.pCommandBuffers = &commands;
  const std::lock_guard lock(queue_lock_);
  check_raw(vk.vkQueueSubmit(queue, 1, &info, fence), "vkQueueSubmit");
}

void RawDevice::wait(VkFence fence) {
  check_raw(vk.vkWaitForFences(handle, 1, &fence, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  check_raw(vk.vkResetFences(handle, 1, &fence), "vkResetFences");
}

RawBuffer::RawBuffer(SharedRawDevice device, std::uint64_t bytes) : device_(std::move(device)) {
  const RawDeviceFunctions& vk = device_->vk;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.size = bytes;
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (device_->has_conditions) info.usage |= VK_BUFFER_USAGE_CONDITIONAL_RENDERING_BIT_EXT;
  check_raw(vk.vkCreateBuffer(device_->handle, &info, nullptr, &handle), "vkCreateBuffer");
  VkMemoryRequirements needed{};
  vk.vkGetBufferMemoryRequirements(device_->handle, handle, &needed);
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.allocationSize = needed.size;
  allocation.memoryTypeIndex = device_->memory_type;
  check_raw(vk.vkAllocateMemory(device_->handle, &allocation, nullptr, &memory_),
            "vkAllocateMemory");
  check_raw(vk.vkBindBufferMemory(device_->handle, handle, memory_, 0), "vkBindBufferMemory");
  void* address = nullptr;
  check_raw(vk.vkMapMemory(device_->handle, memory_, 0, VK_WHOLE_SIZE, 0, &address), "vkMapMemory");
  mapped = static_cast<std::byte*>(address);
}

RawBuffer::~RawBuffer() {
  device_->vk.vkDestroyBuffer(device_->handle, handle, nullptr);
  device_->vk.vkFreeMemory(device_->handle, memory_, nullptr);
}

RawKernel::RawKernel(SharedRawDevice device, std::span<const std::uint32_t> words,
                     VkPipelineCache cache, const RawInterface& interface)
    : device_(std::move(device)) {
  const RawDeviceFunctions& vk = device_->vk;
  std::vector<VkDescriptorSetLayoutBinding> bindings(interface.buffers);
  for (std::uint32_t i = 0; i < interface.buffers; ++i) {
    bindings[i].binding = i;
    bindings[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    bindings[i].descriptorCount = 1;
    bindings[i].stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
  }
  VkDescriptorSetLayoutCreateInfo set_info{};
  set_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
  set_info.bindingCount = interface.buffers;
  set_info.pBindings = bindings.data();
  check_raw(vk.vkCreateDescriptorSetLayout(device_->handle, &set_info, nullptr, &set_layout),
            "vkCreateDescriptorSetLayout");
  const VkPushConstantRange constants{
      .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
      .offset = 0,
      .size = interface.parameters * static_cast<std::uint32_t>(sizeof(std::uint32_t))};
  VkPipelineLayoutCreateInfo layout_info{};
  layout_info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
  layout_info.setLayoutCount = 1;
  layout_info.pSetLayouts = &set_layout;
  layout_info.pushConstantRangeCount = 1;
  layout_info.pPushConstantRanges = &constants;
  check_raw(vk.vkCreatePipelineLayout(device_->handle, &layout_info, nullptr, &layout),
            "vkCreatePipelineLayout");

  VkShaderModuleCreateInfo module_info{};
  module_info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
  module_info.codeSize = words.size_bytes();
  module_info.pCode = words.data();
  VkShaderModule module = VK_NULL_HANDLE;
  check_raw(vk.vkCreateShaderModule(device_->handle, &module_info, nullptr, &module),
            "vkCreateShaderModule");
  VkComputePipelineCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = module;
  info.stage.pName = "main";
  info.layout = layout;
  check_raw(vk.vkCreateComputePipelines(device_->handle, cache, 1, &info, nullptr, &pipeline),
            "vkCreateComputePipelines");
  vk.vkDestroyShaderModule(device_->handle, module, nullptr);
}

RawKernel::~RawKernel() {
  device_->vk.vkDestroyPipeline(device_->handle, pipeline, nullptr);
  device_->vk.vkDestroyPipelineLayout(device_->handle, layout, nullptr);
  device_->vk.vkDestroyDescriptorSetLayout(device_->handle, set_layout, nullptr);
}

RawCommands::RawCommands(SharedRawDevice device, const RawKernel& kernel, const RawWork& work)
    : device_(std::move(device)) {
  const RawDeviceFunctions& vk = device_->vk;
  make_sets(kernel, work);
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = device_->family;
  check_raw(vk.vkCreateCommandPool(device_->handle, &pool_info, nullptr, &pool_),
            "vkCreateCommandPool");
  const VkCommandBufferAllocateInfo one = one_command_buffer(pool_);
  check_raw(vk.vkAllocateCommandBuffers(device_->handle, &one, &commands_),
            "vkAllocateCommandBuffers");
  VkFenceCreateInfo fence_info{};
  fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  check_raw(vk.vkCreateFence(device_->handle, &fence_info, nullptr, &fence_), "vkCreateFence");
  record(kernel, work);
}

RawCommands::~RawCommands() {
  device_->vk.vkDestroyFence(device_->handle, fence_, nullptr);
  device_->vk.vkDestroyCommandPool(device_->handle, pool_, nullptr);
  device_->vk.vkDestroyDescriptorPool(device_->handle, descriptors_, nullptr);
}

void RawCommands::make_sets(const RawKernel& kernel, const RawWork& work) {
  const RawDeviceFunctions& vk = device_->vk;
  const auto count = static_cast<std::uint32_t>(work.buffers.size());
  const VkDescriptorPoolSize size{.type = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .descriptorCount = count};
  VkDescriptorPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
  pool_info.maxSets = count;
  pool_info.poolSizeCount = 1;
  pool_info.pPoolSizes = &size;
  check_raw(vk.vkCreateDescriptorPool(device_->handle, &pool_info, nullptr, &descriptors_),
            "vkCreateDescriptorPool");
  sets_.resize(count);
  const std::vector<VkDescriptorSetLayout> layouts(count, kernel.set_layout);
  VkDescriptorSetAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
  allocation.descriptorPool = descriptors_;
  allocation.descriptorSetCount = count;
  allocation.pSetLayouts = layouts.data();
  check_raw(vk.vkAllocateDescriptorSets(device_->handle, &allocation, sets_.data()),
            "vkAllocateDescriptorSets");
  for (std::uint32_t i = 0; i < count; ++i) {
    const VkDescriptorBufferInfo buffer{
        .buffer = work.buffers[i]->handle, .offset = 0, .range = VK_WHOLE_SIZE};
    VkWriteDescriptorSet write{};
    write.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
    write.dstSet = sets_[i];
    write.descriptorCount = 1;
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = &buffer;
    vk.vkUpdateDescriptorSets(device_->handle, 1, &write, 0, nullptr);
  }
}

void RawCommands::record(const RawKernel& kernel, const RawWork& work) {
  const RawDeviceFunctions& vk = device_->vk;
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  check_raw(vk.vkBeginCommandBuffer(commands_, &begin), "vkBeginCommandBuffer");
  vk.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline);
  vk.vkCmdPushConstants(commands_, kernel.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        sizeof work.elements, &work.elements);
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT;
  memory.dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  const auto barrier = [&](VkPipelineStageFlags to) {
    vk.vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, to, 0, 1, &memory, 0,
                            nullptr, 0, nullptr);
  };
  for (const VkDescriptorSet set : sets_) {
    vk.vkCmdBindDescriptorSets(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, &set,
                               0, nullptr);
    for (std::uint32_t i = 0; i < work.repeats; ++i) {
      if (i != 0) barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT);
      vk.vkCmdDispatch(commands_, work.groups, 1, 1);
    }
  }
  // For the host, and for the next submission too, which then needs none of its own before its
  // first dispatch.
  memory.dstAccessMask |= VK_ACCESS_HOST_READ_BIT;
  barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_HOST_BIT);
  check_raw(vk.vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
}

void RawCommands::submit() { device_->submit(commands_, fence_); }

void RawCommands::wait() { device_->wait(fence_); }

}  // namespace felsite::bench
