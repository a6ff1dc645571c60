// What is assumed about the cost of work on devices, by their kind.
#include <doctest/doctest.h>

#include "vk/made_up_devices.h"
#include "vk/plan/device_prices.h"

using namespace felsite;
using namespace felsite::test;

namespace {

vk::DeviceSnapshot llvmpipe(std::string_view release) {
  vk::DeviceSnapshot device = bare_device();
  device.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  device.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
  device.driver_info = "Mesa " + std::string(release) + " (LLVM 15.0.6)";
  return device;
}

std::uint32_t units(const vk::DeviceSnapshot& device, const vk::HostProcessor& host) {
  return vk::costs_of(device, host).compute_units;
}

}  // namespace

TEST_CASE("device prices: a software device has the cores of the host, or its worker threads") {
  CHECK(units(llvmpipe("22.3.6"), {.cores = 8}) == 8);
  CHECK(units(llvmpipe("25.0.7"), {.cores = 8}) == 8);
  CHECK(units(llvmpipe("22.3.6"), {.cores = 8, .llvmpipe = 3}) == 3);
  CHECK(units(llvmpipe("22.3.6"), {.cores = 2, .llvmpipe = 16}) == 2);
  CHECK(units(llvmpipe("22.3.6"), {.cores = 8, .llvmpipe = 1}) == 1);
  CHECK(units(llvmpipe("22.3.6"), {.cores = 8, .llvmpipe = 0}) == 1);
  CHECK(units(llvmpipe("22.3.6"), {.cores = 0}) == 1);
  vk::DeviceSnapshot other = bare_device();
  other.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  CHECK(units(other, {.cores = 8, .llvmpipe = 3}) == 8);  // the variable is Mesa's
}

TEST_CASE("device prices: without worker threads a dispatch costs far less") {
  for (const char* const release : {"22.3.6", "25.0.7"}) {
    const auto with = vk::costs_of(llvmpipe(release), {.cores = 2}).prices;
    const auto one = vk::costs_of(llvmpipe(release), {.cores = 2, .llvmpipe = 1}).prices;
    const auto without = vk::costs_of(llvmpipe(release), {.cores = 2, .llvmpipe = 0}).prices;
    CHECK(with == one);
    CHECK(without.dispatch * 5 < with.dispatch);
    CHECK(without.access == with.access);
  }
}

TEST_CASE("device prices: Mesa's barriers in a workgroup cost more from release 25 on") {
  const auto barrier = [](const char* release) {
    return vk::costs_of(llvmpipe(release), {}).prices.barrier;
  };
  CHECK(barrier("25.0.0") > barrier("24.9.9"));
  CHECK(barrier("24.9.9") == barrier("22.3.6"));
}

TEST_CASE("device prices: hardware has many units, whatever the host has") {
  vk::DeviceSnapshot card = bare_device();
  CHECK(units(card, {.cores = 2}) == units(card, {.cores = 64}));
  vk::DeviceSnapshot integrated = bare_device();
  integrated.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  CHECK(units(integrated, {}) > 1);
  CHECK(units(card, {}) > units(integrated, {}));
}

TEST_CASE("device prices: all of every kind are more than 0") {
  vk::DeviceSnapshot software = bare_device();
  software.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  vk::DeviceSnapshot integrated = bare_device();
  integrated.type = VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU;
  for (const auto& device :
       {software, integrated, bare_device(), llvmpipe("22.3.6"), llvmpipe("25.0.7")}) {
    for (const vk::HostProcessor& host : {vk::HostProcessor{2, 0}, vk::HostProcessor{2, {}}}) {
      const DevicePrices prices = vk::costs_of(device, host).prices;
      for (const double price :
           {prices.submission, prices.dispatch, prices.skipped, prices.workgroup, prices.iteration,
            prices.barrier, prices.operation, prices.access, prices.trip, prices.atomic,
            prices.turn, prices.again, prices.folded}) {
        CHECK(price > 0);
      }
    }
  }
}
