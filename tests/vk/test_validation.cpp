// That a silent layer means something: with FELSITE_VALIDATION it is heard.
#include <doctest/doctest.h>

#include <cstdlib>

#include "vk/hand_made_kernels.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;

namespace {

std::string validation() {
  const char* const value = std::getenv("FELSITE_VALIDATION");
  return value == nullptr ? "0" : value;
}

// Two fills of one buffer with nothing between them.
void record_hazard(const Device& device) {
  const VolkDeviceTable& functions = device.functions();
  VkBufferCreateInfo buffer_info{};
  buffer_info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  buffer_info.size = 256;
  buffer_info.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VmaAllocationCreateInfo placement{};
  placement.usage = VMA_MEMORY_USAGE_AUTO;
  VkBuffer buffer = VK_NULL_HANDLE;
  VmaAllocation allocation = VK_NULL_HANDLE;
  REQUIRE(vmaCreateBuffer(device.allocator(), &buffer_info, &placement, &buffer, &allocation,
                          nullptr) == VK_SUCCESS);
  VkCommandPoolCreateInfo pool_info{};
  pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
  pool_info.queueFamilyIndex = device.queue_family();
  const auto pool =
      device.make<VkCommandPool>(functions.vkCreateCommandPool, functions.vkDestroyCommandPool,
                                 pool_info, "make a command pool");
  REQUIRE(pool);
  VkCommandBufferAllocateInfo allocate{};
  allocate.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
  allocate.commandPool = pool->get();
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  REQUIRE(functions.vkAllocateCommandBuffers(device.handle(), &allocate, &commands) == VK_SUCCESS);
  VkCommandBufferBeginInfo begin{};
  begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  CHECK(functions.vkBeginCommandBuffer(commands, &begin) == VK_SUCCESS);
  functions.vkCmdFillBuffer(commands, buffer, 0, 256, 1);
  functions.vkCmdFillBuffer(commands, buffer, 0, 256, 2);
  CHECK(functions.vkEndCommandBuffer(commands) == VK_SUCCESS);
  vmaDestroyBuffer(device.allocator(), buffer, allocation);
}

}  // namespace

TEST_CASE("sync sees a hazard that the layer alone does not look for") {
  const auto device = open_test_device();
  if (!device->instance().validated()) return;
  record_hazard(*device);
  CHECK(device->instance().validation_log().count() == (validation() == "sync" ? 1 : 0));
}
