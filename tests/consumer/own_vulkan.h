// An instance, a device and an allocator as a program has them that calls the Vulkan loader it
// links.
#pragma once

#include <vk_mem_alloc.h>
#include <vulkan/vulkan.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

inline void require(bool held, const char* what) {
  if (held) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}
inline void require(VkResult result, const char* what) { require(result == VK_SUCCESS, what); }

class OwnDevice {
 public:
  VkInstance instance = VK_NULL_HANDLE;
  VkPhysicalDevice physical = VK_NULL_HANDLE;
  VkDevice device = VK_NULL_HANDLE;
  VkQueue queue = VK_NULL_HANDLE;
  VmaAllocator allocator = VK_NULL_HANDLE;

  OwnDevice() {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_1;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    require(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
    std::uint32_t count = 1;
    vkEnumeratePhysicalDevices(instance, &count, &physical);
    require(count == 1, "a Vulkan device");
    const float priority = 1;
    VkDeviceQueueCreateInfo queues{};
    queues.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queues.queueCount = 1;
    queues.pQueuePriorities = &priority;
    VkDeviceCreateInfo device_info{};
    device_info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    device_info.queueCreateInfoCount = 1;
    device_info.pQueueCreateInfos = &queues;
    require(vkCreateDevice(physical, &device_info, nullptr, &device), "vkCreateDevice");
    vkGetDeviceQueue(device, 0, 0, &queue);
    VmaAllocatorCreateInfo allocator_info{};
    allocator_info.instance = instance;
    allocator_info.physicalDevice = physical;
    allocator_info.device = device;
    allocator_info.vulkanApiVersion = VK_API_VERSION_1_1;
    require(vmaCreateAllocator(&allocator_info, &allocator), "vmaCreateAllocator");
  }
  ~OwnDevice() {
    vmaDestroyAllocator(allocator);
    vkDestroyDevice(device, nullptr);
    vkDestroyInstance(instance, nullptr);
  }
  OwnDevice(const OwnDevice&) = delete;
  OwnDevice& operator=(const OwnDevice&) = delete;

  // Fills a buffer of the program's own allocator by a command, and reads it.
  void use() const {
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.size = 256;
    info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    VmaAllocationCreateInfo where{};
    where.usage = VMA_MEMORY_USAGE_AUTO;
    where.flags = VMA_ALLOCATION_CREATE_HOST_ACCESS_RANDOM_BIT | VMA_ALLOCATION_CREATE_MAPPED_BIT;
    VkBuffer buffer = VK_NULL_HANDLE;
    VmaAllocation allocation = VK_NULL_HANDLE;
    VmaAllocationInfo placed{};
    require(vmaCreateBuffer(allocator, &info, &where, &buffer, &allocation, &placed),
            "vmaCreateBuffer");
    fill(buffer, 0x2a2a2a2a);
    require(vmaInvalidateAllocation(allocator, allocation, 0, 256), "vmaInvalidateAllocation");
    std::uint32_t last = 0;
    std::memcpy(&last, static_cast<const char*>(placed.pMappedData) + 252, 4);
    require(last == 0x2a2a2a2a, "the buffer was filled");
    vmaDestroyBuffer(allocator, buffer, allocation);
  }

 private:
  void fill(VkBuffer buffer, std::uint32_t value) const {
    VkCommandPoolCreateInfo pool_info{};
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    VkCommandPool pool = VK_NULL_HANDLE;
    require(vkCreateCommandPool(device, &pool_info, nullptr, &pool), "vkCreateCommandPool");
    VkCommandBufferAllocateInfo one{};
    one.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    one.commandPool = pool;
    one.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
    one.commandBufferCount = 1;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    require(vkAllocateCommandBuffers(device, &one, &commands), "vkAllocateCommandBuffers");
    VkCommandBufferBeginInfo begin{};
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    require(vkBeginCommandBuffer(commands, &begin), "vkBeginCommandBuffer");
    vkCmdFillBuffer(commands, buffer, 0, VK_WHOLE_SIZE, value);
    VkMemoryBarrier to_host{};
    to_host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    to_host.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
    to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0, 1,
                         &to_host, 0, nullptr, 0, nullptr);
    require(vkEndCommandBuffer(commands), "vkEndCommandBuffer");
    VkSubmitInfo submit{};
    submit.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    submit.commandBufferCount = 1;
    submit.pCommandBuffers = &commands;
    require(vkQueueSubmit(queue, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
    require(vkQueueWaitIdle(queue), "vkQueueWaitIdle");
    vkDestroyCommandPool(device, pool, nullptr);
  }
};
