#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "vk/device_capabilities.h"
#include "vk/hand_made_kernels.h"

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
  check_validation(*device);
}

TEST_CASE("the drivers are what the tests take them for") {
  const char* const driver = std::getenv("FELSITE_TEST_DRIVER");
  if (driver == nullptr) return;  // started by hand on whatever there is
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
  const auto device = open_test_device({.mask = narrow});
  CHECK(device->capabilities().features.none());
  check_validation(*device);

  codegen::Capabilities wide = found;
  wide.limits.shared_bytes = found.limits.shared_bytes + 1;
  const auto refused = open_device({.mask = wide});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
  CHECK(refused.error().message.find("shared bytes") != std::string::npos);
  CHECK(refused.error().context.device == device->snapshot().name);
}

TEST_CASE("a name that no device has is answered with the devices there are") {
  const auto refused = open_device({.name_contains = "no such device"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
  const auto devices = list_devices();
  REQUIRE(devices);
  REQUIRE_FALSE(devices->empty());
  for (const DeviceSnapshot& device : *devices) {
    CHECK(refused.error().message.find(device.name) != std::string::npos);
  }
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
