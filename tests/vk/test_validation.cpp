// That a silent layer means something: with FELSITE_VALIDATION it is heard.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "felsite/warnings.h"
#include "support/skip.h"
#include "vk/backend_on_device.h"
#include "vk/hand_made_kernels.h"
#include "vk/instance/loader.h"

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

TEST_CASE("threads may make and drop command buffers while the layer listens") {
  const auto device = open_test_device();
  FELSITE_SKIP_IF(!device->instance().validated(), "the validation layer is not in force");
  const auto backend = must(make_vulkan_backend());
  const auto work = [&backend](std::uint32_t seed) {
    for (std::uint32_t i = 0; i < 300; ++i) {
      const auto buffer = must(backend->allocate_resident(4));
      const ResidentStep step{.program = add_one(), .resources = {buffer}};
      auto recorded = must(backend->record_resident({.prefix = {&step, 1}}, {}));
      must(backend->upload_resident(buffer, bytes_of(Words{seed + i})));
      recorded.reset();
      must(backend->free_resident(buffer));
    }
  };
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < 4; ++i) threads.emplace_back(work, i);
  threads.clear();
  check_silent_layers();
}

TEST_CASE("labels are kept from layers that cannot bear them") {
  CHECK_FALSE(keeps_labels_apart(0));
  CHECK_FALSE(keeps_labels_apart(VK_MAKE_API_VERSION(0, 1, 3, 239)));
  CHECK_FALSE(keeps_labels_apart(VK_MAKE_API_VERSION(0, 1, 4, 308)));
  CHECK(keeps_labels_apart(VK_MAKE_API_VERSION(0, 1, 4, 309)));
  const auto device = open_test_device();
  const Instance& instance = device->instance();
  if (!instance.validated()) {
    CHECK(instance.labels_steps() == instance.names_objects());
  } else {
    CHECK(instance.labels_steps() == keeps_labels_apart(validation_layer_version().value_or(0)));
  }
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
  CHECK(warnings ==
        std::vector<std::string>{"FELSITE_VALIDATION is set, and "
                                 "VK_LAYER_KHRONOS_validation is not installed. Fix: install the "
                                 "layer, or unset FELSITE_VALIDATION."});
}
