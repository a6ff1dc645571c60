// A device that the caller brings along: used as far as it was set up, and left as it was.
#include <doctest/doctest.h>

#include <ostream>
#include <thread>

#include "felsite/kernel.h"
#include "support/run_kernel.h"
#include "vk/callers_device.h"
#include "vk/device/interop.h"
#include "vk/hand_made_kernels.h"
#include "vk/made_up_devices.h"
#include "vk/plan/device_capabilities.h"
#include "vk/plan/feature_chain.h"
#include "vk/plan/feature_table.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;
using codegen::Feature;
using Words = std::vector<std::uint32_t>;

namespace {

std::unique_ptr<Device> adopt(const VulkanInterop& interop, const std::string& mask = {}) {
  auto device = adopt_device(interop, mask);
  if (!device) FAIL(to_string(device.error()));
  return std::move(*device);
}

void check_kernel(Device& device) {
  const HandMade made = add_scaled(true);
  const auto prepared = PreparedKernel::prepare(device, made.kernel, made.program);
  REQUIRE(prepared);
  const Words x{1, 2};
  const Words y{3, 4};
  const auto outputs =
      prepared->run(std::vector<ByteSpan>{span_of(x), {}, span_of(y), {}}, {.parameters = {10}});
  REQUIRE(outputs);
  CHECK(words_of((*outputs)[0]) == Words{14, 25});
}

// What was lowered under the device's mask runs on it: nothing in it was not turned on.
void check_lowered(Device& device) {
  const auto program = valid_program(R"(program wide workgroup(8) {
    readonly x: u64[8];
    output y: u64[8];
    let i = local.x;
    y[i] = x[i] * x[i];
  })");
  const auto kernel = codegen::lower(codegen::Segment(valid(program)), device.capabilities());
  REQUIRE(kernel);
  const std::vector<std::uint64_t> x{0, 1, 2, 3, 1u << 20, 5, 6, UINT64_MAX};
  const auto prepared = PreparedKernel::prepare(device, *kernel, program);
  REQUIRE(prepared);
  const auto outputs = prepared->run(std::vector{std::as_bytes(std::span(x))}, {});
  REQUIRE(outputs);
  std::vector<std::uint64_t> y(8);
  REQUIRE((*outputs)[0].size() == 64);
  std::memcpy(y.data(), (*outputs)[0].data(), 64);
  CHECK(y == std::vector<std::uint64_t>{0, 1, 4, 9, std::uint64_t{1} << 40, 25, 36, 1});
}

// Functions of the caller's own: they count what Felsite must not do, and look at what it does.
struct Seen {
  int destroyed = 0;
  int submits = 0;
  int submits_without_lock = 0;
  std::mutex* mutex = nullptr;
  PFN_vkGetDeviceProcAddr get_device_function = nullptr;
  PFN_vkQueueSubmit submit = nullptr;
  PFN_vkQueueSubmit2 submit2 = nullptr;
};
Seen seen;

void note_submit() {
  ++seen.submits;
  bool was_free = false;
  std::thread([&] {
    was_free = seen.mutex->try_lock();
    if (was_free) seen.mutex->unlock();
  }).join();
  if (was_free) ++seen.submits_without_lock;
}

template <class Function>
PFN_vkVoidFunction as_void(Function function) {
  return reinterpret_cast<PFN_vkVoidFunction>(function);
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL counting_device_function(VkDevice device,
                                                                  const char* name) {
  const PFN_vkVoidFunction real = seen.get_device_function(device, name);
  const std::string_view wanted = name;
  if (wanted == "vkDestroyDevice") {
    return as_void(+[](VkDevice, const VkAllocationCallbacks*) { ++seen.destroyed; });
  }
  if (wanted == "vkQueueSubmit") {
    seen.submit = reinterpret_cast<PFN_vkQueueSubmit>(real);
    return as_void(
        +[](VkQueue queue, std::uint32_t count, const VkSubmitInfo* infos, VkFence fence) {
          note_submit();
          return seen.submit(queue, count, infos, fence);
        });
  }
  if (wanted == "vkQueueSubmit2" && real != nullptr) {
    seen.submit2 = reinterpret_cast<PFN_vkQueueSubmit2>(real);
    return as_void(
        +[](VkQueue queue, std::uint32_t count, const VkSubmitInfo2* infos, VkFence fence) {
          note_submit();
          return seen.submit2(queue, count, infos, fence);
        });
  }
  return real;
}

VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL counting_instance_function(VkInstance instance,
                                                                    const char* name) {
  const PFN_vkVoidFunction real = loader().get_instance_proc_addr(instance, name);
  const std::string_view wanted = name;
  if (wanted == "vkDestroyInstance") {
    return as_void(+[](VkInstance, const VkAllocationCallbacks*) { ++seen.destroyed; });
  }
  if (wanted == "vkGetDeviceProcAddr") {
    seen.get_device_function = reinterpret_cast<PFN_vkGetDeviceProcAddr>(real);
    return as_void(counting_device_function);
  }
  return real;
}

}  // namespace

TEST_CASE("a device with everything turned on is as good as one that Felsite opened") {
  for (const TurnedOn how : {TurnedOn::VersionStructs, TurnedOn::SingleStructs}) {
    const CallersDevice callers(VK_API_VERSION_1_3, how);
    {
      const auto device = adopt(callers.interop());
      const auto own = open_test_device({.device = "0"});
      CHECK(device->capabilities().features == own->capabilities().features);
      CHECK(device->plan().runtime == own->plan().runtime);
      CHECK(device->plan().extensions == own->plan().extensions);
      CHECK(device->snapshot().uuid == own->snapshot().uuid);
      // Two instances at once: each device has the functions of its own.
      check_kernel(*device);
      check_kernel(*own);
      check_lowered(*device);
      check_silent_layers();
    }
    CHECK(callers.works());
  }
}

TEST_CASE("what the caller did not turn on is not used, however much the device could do") {
  const CallersDevice callers(VK_API_VERSION_1_1, TurnedOn::Nothing);
  {
    const auto device = adopt(callers.interop());
    CHECK(device->snapshot().api_version == VK_API_VERSION_1_1);
    const codegen::Capabilities& mask = device->capabilities();
    CHECK(mask.spirv_version == 0x0001'0300);
    for (const Feature feature : {Feature::Int64, Feature::Storage8, Feature::MemoryModel,
                                  Feature::RobustAccess2, Feature::PreserveSpecials32}) {
      CHECK_FALSE(mask.has(feature));
    }
    // Neither of these has to be turned on.
    CHECK(mask.has(Feature::SubgroupBallot));
    CHECK(device->has(RuntimeFeature::InPlaceMemory));
    CHECK(device->has(RuntimeFeature::InPlaceReads));
    CHECK(device->plan().runtime.count() == 2);
    CHECK(device->plan().extensions.empty());
    check_kernel(*device);
    check_lowered(*device);
  }
  CHECK(callers.works());
}

TEST_CASE("a mask narrows a device that was brought along, and may not widen it") {
  const CallersDevice callers(VK_API_VERSION_1_3, TurnedOn::VersionStructs);
  const auto device = adopt(callers.interop(), "none,transfer_queue");
  CHECK(device->capabilities().features.none());
  CHECK(device->transfer_queue() == callers.interop().queue);
  check_kernel(*device);
  check_lowered(*device);

  const CallersDevice bare(VK_API_VERSION_1_1, TurnedOn::Nothing);
  const auto refused = adopt_device(bare.interop(), "timeline_semaphores");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
}

TEST_CASE("nothing of the caller's is destroyed, and its queue is used under its lock") {
  std::mutex mutex;
  seen = {.mutex = &mutex};
  const CallersDevice callers(VK_API_VERSION_1_3, TurnedOn::VersionStructs);
  VulkanInterop interop = callers.interop();
  interop.queue_mutex = &mutex;
  interop.get_instance_proc_addr = counting_instance_function;
  check_kernel(*adopt(interop));
  CHECK_FALSE(adopt_device(interop, "bogus"));
  CHECK(seen.destroyed == 0);
  CHECK(seen.submits > 0);
  CHECK(seen.submits_without_lock == 0);
  CHECK(mutex.try_lock());
  mutex.unlock();
  CHECK(callers.works());
}

TEST_CASE("a device that cannot serve is refused with the reason") {
  const CallersDevice callers(VK_API_VERSION_1_1, TurnedOn::Nothing);
  const auto refusal = [](const VulkanInterop& interop) {
    const auto refused = adopt_device(interop);
    REQUIRE_FALSE(refused);
    CHECK_FALSE(refused.error().fix.empty());
    return refused.error();
  };
  VulkanInterop interop = callers.interop();
  interop.queue = VK_NULL_HANDLE;
  CHECK(refusal(interop).code == ErrorCode::BadInputs);
  interop = callers.interop();
  interop.api_version = VK_API_VERSION_1_0;
  CHECK(refusal(interop).message.find("Vulkan 1.0") != std::string::npos);
  interop = callers.interop();
  interop.queue_family = 7;
  CHECK(refusal(interop).message.find("family 7") != std::string::npos);
  CHECK(refusal({}).code == ErrorCode::BadInputs);
}

TEST_CASE("features are found in structs of single features and in those of versions") {
  CHECK_FALSE(features_in(nullptr).int64);
  VkPhysicalDeviceSynchronization2Features synchronization{};
  synchronization.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SYNCHRONIZATION_2_FEATURES;
  synchronization.synchronization2 = VK_TRUE;
  VkPhysicalDeviceVulkan12Features version{};
  version.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
  version.timelineSemaphore = VK_TRUE;
  version.vulkanMemoryModel = VK_TRUE;
  version.pNext = &synchronization;
  VkPhysicalDeviceMultiviewFeatures unknown{};  // to Felsite
  unknown.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MULTIVIEW_FEATURES;
  unknown.multiview = VK_TRUE;
  unknown.pNext = &version;
  VkPhysicalDeviceFeatures2 core{};
  core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
  core.features.shaderInt64 = VK_TRUE;
  core.pNext = &unknown;
  const OptionalFeatures on = features_in(&core);
  CHECK(on.int64);
  CHECK(on.timeline_semaphore);
  CHECK(on.memory_model);
  CHECK(on.synchronization2);
  CHECK_FALSE(on.float64);
  CHECK_FALSE(on.memory_model_device_scope);
  CHECK_FALSE(on.storage16);

  SUBCASE("and in those of extensions") {
    VkPhysicalDeviceConditionalRenderingFeaturesEXT conditional{};
    conditional.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CONDITIONAL_RENDERING_FEATURES_EXT;
    CHECK_FALSE(on.conditional_rendering);
    core.pNext = &conditional;
    CHECK_FALSE(features_in(&core).conditional_rendering);
    conditional.conditionalRendering = VK_TRUE;
    CHECK(features_in(&core).conditional_rendering);
  }
  SUBCASE("a robust access without null descriptors does not stand for empty buffers") {
    VkPhysicalDeviceRobustness2FeaturesEXT robustness{};
    robustness.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ROBUSTNESS_2_FEATURES_EXT;
    robustness.robustBufferAccess2 = VK_TRUE;
    core.pNext = &robustness;
    core.features.robustBufferAccess = VK_TRUE;
    CHECK_FALSE(has_needs_of(features_in(&core), Feature::RobustAccess2));
    robustness.nullDescriptor = VK_TRUE;
    CHECK(has_needs_of(features_in(&core), Feature::RobustAccess2));
  }
}

TEST_CASE("a made-up device is restricted to what its owner says") {
  const DeviceSnapshot card = rebar_device();
  VulkanInterop interop;
  interop.api_version = VK_API_VERSION_1_2;
  interop.queue_family = 1;
  DeviceSnapshot rest = restricted(card, interop);
  CHECK(rest.api_version == VK_API_VERSION_1_2);
  CHECK(rest.extensions.empty());
  CHECK_FALSE(rest.features.timeline_semaphore);
  CHECK(compute_family(rest) == 1);
  CHECK_FALSE(transfer_family(rest));
  CHECK(rest.memory_types.size() == card.memory_types.size());
  CHECK(rest.name == card.name);

  SUBCASE("an extension counts where owner and device both have it") {
    const char* const names[] = {VK_EXT_MEMORY_BUDGET_EXTENSION_NAME, "VK_EXT_not_there"};
    interop.extensions = names;
    rest = restricted(card, interop);
    CHECK(rest.extensions == std::vector<std::string>{VK_EXT_MEMORY_BUDGET_EXTENSION_NAME});
    CHECK(has(runtime_features_of(rest), RuntimeFeature::MemoryBudget));
    CHECK_FALSE(has(runtime_features_of(rest), RuntimeFeature::PushDescriptors));
  }
  SUBCASE("what modules say about floats needs the version or the extension") {
    DeviceSnapshot precise = card;
    precise.float_controls.preserve_specials32 = true;
    precise.extensions.emplace_back(VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME);
    CHECK(restricted(precise, interop).float_controls.preserve_specials32);
    interop.api_version = VK_API_VERSION_1_1;
    CHECK_FALSE(restricted(precise, interop).float_controls.preserve_specials32);
    const char* const names[] = {VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME};
    interop.extensions = names;
    CHECK(restricted(precise, interop).float_controls.preserve_specials32);
  }
}
