// That a silent layer means something: with FELSITE_VALIDATION it is heard.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "felsite/warnings.h"
#include "support/skip.h"
#include "vk/hand_made_kernels.h"
#include "vk/loader.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;

namespace {

// Two fills of one buffer with nothing between them.
void record_hazard(const Device& device) {
  const DeviceFunctions& functions = device.functions();
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
  const auto pool = device.make<VkCommandPool>(functions.vkCreateCommandPool,
                                               functions.vkDestroyCommandPool, pool_info, "hazard");
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
  FELSITE_SKIP_IF(!device->instance().validated(), "the validation layer is not in force");
  check_silent_layers();
  std::vector<std::string> warnings;
  set_warning_handler([&](std::string_view warning) { warnings.emplace_back(warning); });
  record_hazard(*device);
  set_warning_handler(nullptr);
  // The one message that a test provokes, so it is taken out of the log.
  const std::vector<std::string> messages = validation_log().take();
  REQUIRE(messages.size() == (wanted_layer() == "sync" ? 1 : 0));
  REQUIRE(warnings.size() == messages.size());
  if (!messages.empty()) CHECK(warnings[0] == "validation: " + messages[0]);
}

TEST_CASE("a layer that is not there is a warning") {
  REQUIRE(open_loader());
  std::map<std::string, std::optional<std::string>> before;
  for (const auto& [name, value] :
       {std::pair{"FELSITE_VALIDATION", "1"}, std::pair{"VK_LAYER_PATH", "/dev/null/none"}}) {
    const char* const old = std::getenv(name);
    before[name] = old == nullptr ? std::nullopt : std::optional<std::string>(old);
    setenv(name, value, 1);
  }
  std::vector<std::string> warnings;
  set_warning_handler([&](std::string_view warning) { warnings.emplace_back(warning); });
  const auto found = wanted_validation();
  set_warning_handler(nullptr);
  for (const auto& [name, value] : before) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }
  REQUIRE(found);
  CHECK(*found == Validation::Off);
  CHECK(warnings == std::vector<std::string>{"FELSITE_VALIDATION is set, and "
                                             "VK_LAYER_KHRONOS_validation is not installed."});
}
