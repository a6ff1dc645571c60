// Which of several devices is taken, and what is said about the others.
#include <doctest/doctest.h>

#include "vk/made_up_devices.h"
#include "vk/plan/device_plan.h"
#include "vk/plan/device_ranking.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;

namespace {

// The position of the device that is taken; nothing if it is an error.
std::optional<std::size_t> taken(const std::vector<DeviceSnapshot>& devices,
                                 const std::string& wanted) {
  const auto plan = plan_device(devices, {.device = wanted});
  return plan ? std::optional(plan->device) : std::nullopt;
}

std::string refusal(const std::vector<DeviceSnapshot>& devices, const std::string& wanted) {
  const auto plan = plan_device(devices, {.device = wanted});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::UnsupportedFeature);
  CHECK_FALSE(plan.error().fix.empty());
  return plan.error().message;
}

}  // namespace

TEST_CASE("the strongest kind is taken, wherever it is listed") {
  const std::vector all{software_device(), integrated_device(), ancient_device(),
                        device_without_compute(), discrete_device()};
  CHECK(taken(all, "") == 4);
  CHECK(taken({integrated_device(), software_device()}, "") == 0);
  DeviceSnapshot virtual_gpu = discrete_device();
  virtual_gpu.type = VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
  CHECK(taken({virtual_gpu, integrated_device()}, "") == 1);
  CHECK(taken({software_device(), virtual_gpu}, "") == 1);
}

TEST_CASE("software is taken where it is named or alone, never before hardware") {
  const std::vector both{software_device(), integrated_device()};
  CHECK(taken(both, "") == 1);
  CHECK(taken(both, "llvmpipe") == 0);
  CHECK(taken(both, "0") == 0);
  CHECK(taken(both, "e") == 1);  // in both names
  CHECK(taken({software_device()}, "") == 0);
  CHECK(taken({software_device(), ancient_device()}, "") == 0);

  SUBCASE("hardware of no stated kind comes before software") {
    DeviceSnapshot unstated = bare_device();
    unstated.type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
    CHECK(taken({software_device(), unstated}, "") == 1);
  }
  SUBCASE("a software driver is one whatever kind it states") {
    DeviceSnapshot disguised = software_device();
    disguised.type = VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU;
    CHECK(is_software(disguised));
    DeviceSnapshot unstated = bare_device();
    unstated.type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
    CHECK(taken({disguised, unstated}, "") == 1);
  }
}

TEST_CASE("software is not taken in silence where hardware cannot be used") {
  const std::vector devices{ancient_device(), software_device()};
  CHECK(
      plan_device(devices, {})->warning ==
      "`llvmpipe (LLVM 15.0.6, 256 bits)` is taken, which is software; `Ancient 1.0` cannot be "
      "used: it knows Vulkan 1.0 only. Fix: update the driver of the device that you want, or name "
      "the one to take in FELSITE_DEVICE.");
  CHECK(plan_device(devices, {.device = "llvmpipe"})->warning.empty());
  CHECK(plan_device(std::vector{software_device()}, {})->warning.empty());
  CHECK(plan_device(std::vector{software_device(), bare_device()}, {})->warning.empty());
}

TEST_CASE("two equal cards: the first, or the second by position or UUID") {
  DeviceSnapshot second = discrete_device();
  second.uuid = "000000000a0000000000000000000000";
  const std::vector cards{discrete_device(), second};
  CHECK(taken(cards, "") == 0);
  CHECK(taken(cards, "Radeon") == 0);
  CHECK(taken(cards, "0") == 0);
  CHECK(taken(cards, "1") == 1);
  CHECK(taken(cards, second.uuid) == 1);
  CHECK(taken(cards, "000000000a") == 1);
  CHECK(taken(cards, "000000000A") == 1);
  CHECK(taken(cards, "00000000-0a00-0000-0000-000000000000") == 1);
  CHECK(refusal(cards, "000000000") ==
        "No device can be used: `Radeon RX 6800`: its UUID begins with `000000000`, as does that "
        "of another device; `Radeon RX 6800`: its UUID begins with `000000000`, as does that of "
        "another device.");
  // Too short for a UUID, and no part of a name either.
  CHECK(refusal(cards, "000000a").find("does not contain") != std::string::npos);
}

TEST_CASE("a part of a name is found whatever its case; a number may be one") {
  const std::vector devices{integrated_device(), rebar_device()};
  CHECK(taken(devices, "iris") == 0);
  CHECK(taken(devices, "GEFORCE") == 1);
  CHECK(taken(devices, "4090") == 1);
  CHECK(taken(devices, "1") == 1);
  CHECK_FALSE(taken(devices, "2"));
  CHECK_FALSE(taken(devices, "-1"));
}

TEST_CASE("a refusal gives the reason against each device") {
  CHECK(refusal({}, "") == "Vulkan lists no device.");
  CHECK(refusal({ancient_device(), device_without_compute()}, "") ==
        "No device can be used: `Ancient 1.0`: it knows Vulkan 1.0 only; `Display only`: it has "
        "no queue that computes.");
  CHECK(refusal({software_device(), ancient_device()}, "ancient") ==
        "No device can be used: `llvmpipe (LLVM 15.0.6, 256 bits)`: its name does not contain "
        "`ancient`; `Ancient 1.0`: it knows Vulkan 1.0 only.");
  // A position means that device, also if it cannot be used.
  CHECK(refusal({software_device(), ancient_device()}, "1") ==
        "No device can be used: `llvmpipe (LLVM 15.0.6, 256 bits)`: device 1 was asked for; "
        "`Ancient 1.0`: it knows Vulkan 1.0 only.");
}

TEST_CASE("a listing says for every device why it would or would not be taken") {
  const std::vector devices{software_device(), integrated_device(), discrete_device(),
                            discrete_device(), ancient_device()};
  const auto verdicts = judge_devices(devices, {});
  REQUIRE(verdicts.size() == 5);
  CHECK(verdicts[0].usable);
  CHECK_FALSE(verdicts[0].chosen);
  CHECK(verdicts[0].reason == "it is software, and device 2 is a discrete GPU");
  CHECK(verdicts[1].usable);
  CHECK(verdicts[1].reason == "device 2 is a discrete GPU");
  CHECK(verdicts[2].chosen);
  CHECK(verdicts[2].reason == "it is the first of the strongest kind, a discrete GPU");
  CHECK(verdicts[3].usable);
  CHECK_FALSE(verdicts[3].chosen);
  CHECK(verdicts[3].reason == "device 2 is of the same kind and comes first");
  CHECK_FALSE(verdicts[4].usable);
  CHECK(verdicts[4].reason == "it knows Vulkan 1.0 only");
  CHECK(judge_devices({}, {}).empty());
}

TEST_CASE("a mask that a device cannot serve speaks against it, and moves no choice") {
  const std::vector devices{integrated_device(), bare_device()};
  const DeviceWish wish{.mask = "timeline_semaphores"};
  const auto verdicts = judge_devices(devices, wish);
  CHECK(verdicts[0].usable);
  CHECK_FALSE(verdicts[0].chosen);
  CHECK(verdicts[0].reason == "device 1 is a discrete GPU");
  CHECK_FALSE(verdicts[1].usable);
  CHECK_FALSE(verdicts[1].chosen);
  CHECK(verdicts[1].reason ==
        "the mask asks for more than the device has: feature timeline_semaphores");
  const auto plan = plan_device(devices, wish);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::UnsupportedFeature);
  CHECK(plan.error().context.device == "Bare 1.1");
}

TEST_CASE("a compute family with timestamps is preferred") {
  DeviceSnapshot device = bare_device();
  device.queue_families = {{VK_QUEUE_TRANSFER_BIT, 1, 64},
                           {VK_QUEUE_COMPUTE_BIT, 1, 0},
                           {VK_QUEUE_COMPUTE_BIT, 0, 64},
                           {VK_QUEUE_COMPUTE_BIT, 2, 36}};
  CHECK(compute_family(device) == 3);
  device.queue_families.pop_back();
  CHECK(compute_family(device) == 1);
}

TEST_CASE("the family for copies does nothing else") {
  DeviceSnapshot device = bare_device();
  CHECK_FALSE(transfer_family(device));
  constexpr VkQueueFlags kVideo = 0x20;  // VK_QUEUE_VIDEO_DECODE_BIT_KHR
  device.queue_families = {{kEverything, 1, 64},
                           {VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT, 8, 64},
                           {VK_QUEUE_TRANSFER_BIT | kVideo, 1, 64},
                           {VK_QUEUE_TRANSFER_BIT, 0, 64}};
  CHECK_FALSE(transfer_family(device));
  device.queue_families.push_back({VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT, 2, 64});
  CHECK(transfer_family(device) == 4);
}
