#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "support/skip.h"
#include "vk/hand_made_kernels.h"
#include "vk/plan/device_capabilities.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;
using codegen::Feature;

TEST_CASE("the device opens with all that was found") {
  const auto device = open_test_device();
  const codegen::Capabilities found = capabilities_of(device->snapshot());
  CHECK(device->capabilities().features == found.features);
  CHECK_FALSE(device->snapshot().name.empty());
  CHECK(device->snapshot().limits.storage_buffer_range >= (1u << 27));
  check_silent_layers();
}

TEST_CASE("the drivers are what the tests take them for") {
  const char* const driver = std::getenv("FELSITE_TEST_DRIVER");
  FELSITE_SKIP_IF(driver == nullptr, "FELSITE_TEST_DRIVER does not name the driver");
  const auto device = open_test_device();
  const codegen::Capabilities& found = device->capabilities();
  CHECK(found.has(Feature::LinearSubgroups));
  if (std::string(driver) == "swiftshader") {
    CHECK(found.subgroup_size == 4);
    CHECK_FALSE(found.has(Feature::Int64));
    CHECK_FALSE(found.has(Feature::Storage8));
    CHECK_FALSE(found.has(Feature::RobustAccess2));
    CHECK(found.has(Feature::SubgroupArithmetic));
    CHECK(found.loop_budget == 0);
  } else {
    CHECK(device->snapshot().driver == VK_DRIVER_ID_MESA_LLVMPIPE);
    CHECK(found.features.all());
  }
  if (std::string(driver) == "lavapipe25") CHECK(found.loop_budget == 0);
}

TEST_CASE("a narrower mask opens, a wider one is refused by name") {
  const codegen::Capabilities found = open_test_device()->capabilities();
  codegen::Capabilities narrow = found;
  narrow.features.reset();
  const auto device = open_test_device({.capabilities = narrow});
  CHECK(device->capabilities().features.none());
  check_silent_layers();

  codegen::Capabilities wide = found;
  wide.limits.shared_bytes = found.limits.shared_bytes + 1;
  const auto refused = open_device({.capabilities = wide});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
  CHECK(refused.error().message.find("shared bytes") != std::string::npos);
  CHECK(refused.error().context.device == device->snapshot().name);
}

TEST_CASE("a name that no device has is answered with the devices there are") {
  const auto refused = open_device({.device = "no such device"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
  const auto devices = list_devices();
  REQUIRE(devices);
  REQUIRE_FALSE(devices->empty());
  for (const DeviceSnapshot& device : *devices) {
    CHECK(refused.error().message.find(device.name) != std::string::npos);
  }
}

TEST_CASE("a device is found by position and by UUID") {
  const auto devices = list_devices();
  REQUIRE(devices);
  for (std::size_t i = 0; i < devices->size(); ++i) {
    const DeviceSnapshot& device = (*devices)[i];
    CHECK(device.uuid.size() == 32);
    CHECK(open_test_device({.device = std::to_string(i)})->plan().device == i);
    CHECK(open_test_device({.device = device.uuid})->snapshot().uuid == device.uuid);
  }
}

TEST_CASE("FELSITE_DEVICE names the device where nobody else does") {
  setenv("FELSITE_DEVICE", "no such device", 1);
  const auto refused = open_device();
  const auto named = open_device({.device = "0"});
  unsetenv("FELSITE_DEVICE");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("`no such device`") != std::string::npos);
  CHECK(named);
}

TEST_CASE("FELSITE_VALIDATION takes known values only") {
  const char* const before = std::getenv("FELSITE_VALIDATION");
  const std::string kept = before == nullptr ? "0" : before;
  setenv("FELSITE_VALIDATION", "perhaps", 1);
  const auto refused = open_device();
  setenv("FELSITE_VALIDATION", kept.c_str(), 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::BadInputs);
  CHECK(refused.error().message.find("`perhaps`") != std::string::npos);
  CHECK(open_device());
}

TEST_CASE("what the runtime uses can be turned off, each alone and all together") {
  const RuntimeFeatures found = runtime_features_of(open_test_device()->snapshot());
  CHECK(has(found, RuntimeFeature::TimelineSemaphores));
  CHECK(has(found, RuntimeFeature::InPlaceMemory));
  for (std::size_t i = 0; i < kRuntimeFeatureCount; ++i) {
    const RuntimeFeatureInfo& row = info(static_cast<RuntimeFeature>(i));
    CAPTURE(row.name);
    const auto without = open_test_device({.mask = "-" + std::string(row.name)});
    CHECK_FALSE(without->has(row.feature));
    check_silent_layers();
  }
  const auto bare = open_test_device({.mask = "none"});
  CHECK(bare->plan().runtime.none());
  CHECK(bare->plan().extensions.empty());
  CHECK(bare->transfer_queue() == bare->compute_queue());
  check_silent_layers();
}

TEST_CASE("the functions of what is turned on are there") {
  const auto device = open_test_device();
  const DeviceFunctions& functions = device->functions();
  const auto there = [](auto function) { return function != nullptr; };
  if (device->has(RuntimeFeature::TimelineSemaphores)) CHECK(there(functions.vkWaitSemaphores));
  if (device->has(RuntimeFeature::Synchronization2)) {
    CHECK(there(functions.vkCmdPipelineBarrier2));
    CHECK(there(functions.vkQueueSubmit2));
  }
  if (device->has(RuntimeFeature::PushDescriptors)) {
    CHECK(there(functions.vkCmdPushDescriptorSetKHR));
  }
  if (device->has(RuntimeFeature::ConditionalRendering)) {
    CHECK(there(functions.vkCmdBeginConditionalRenderingEXT));
    CHECK(there(functions.vkCmdEndConditionalRenderingEXT));
  }
}

TEST_CASE("a queue for copies is the compute queue where there is no other") {
  const auto device = open_test_device({.mask = "transfer_queue"});
  CHECK(device->has(RuntimeFeature::TransferQueue));
  REQUIRE_FALSE(device->queue_families().empty());
  CHECK(device->queue_families().front() == device->queue_family());
  const bool same_family = device->queue_families().size() == 1;
  CHECK(same_family == (device->transfer_queue() == device->compute_queue()));
  check_silent_layers();
}

TEST_CASE("devices open and close from several threads at once") {
  std::vector<std::thread> threads;
  std::atomic<int> opened = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) opened += open_device().has_value() ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(opened == 12);
}
