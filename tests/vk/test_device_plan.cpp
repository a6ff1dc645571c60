// How a device would be opened: features, extensions, queues, memory, under every mask.
#include <doctest/doctest.h>

#include <algorithm>
#include <ostream>

#include "vk/made_up_devices.h"
#include "vk/plan/device_capabilities.h"
#include "vk/plan/device_plan.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;
using codegen::Feature;

namespace {

DevicePlan plan_of(const DeviceSnapshot& device, const DeviceWish& wish = {}) {
  auto plan = plan_device(std::vector{device}, wish);
  if (!plan) FAIL(to_string(plan.error()));
  return *plan;
}

DevicePlan masked(const DeviceSnapshot& device, const std::string& mask) {
  return plan_of(device, {.mask = mask});
}

bool turns_on(const DevicePlan& plan, std::string_view extension) {
  return std::ranges::find(plan.extensions, extension) != plan.extensions.end();
}

bool notes(const DevicePlan& plan, std::string_view part) {
  return std::ranges::any_of(
      plan.notes, [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("a discrete card: staged through its window, copies on their own queue") {
  const DevicePlan plan = plan_of(discrete_device());
  CHECK(plan.device == 0);
  CHECK(plan.compute_family == 0);
  CHECK(plan.transfer_family == 2);
  CHECK_FALSE(plan.memory.writes_in_place);
  CHECK_FALSE(plan.memory.reads_in_place);
  CHECK(plan.memory.why.find("256 MiB") != std::string::npos);
  CHECK_FALSE(plan.has(RuntimeFeature::InPlaceMemory));
  for (const RuntimeFeature feature :
       {RuntimeFeature::TimelineSemaphores, RuntimeFeature::Synchronization2,
        RuntimeFeature::PushDescriptors, RuntimeFeature::TransferQueue,
        RuntimeFeature::ExternalHostMemory, RuntimeFeature::MemoryBudget,
        RuntimeFeature::ConditionalRendering}) {
    CAPTURE(info(feature).name);
    CHECK(plan.has(feature));
  }
  CHECK(plan.features.timeline_semaphore);
  CHECK(plan.features.synchronization2);
  CHECK(plan.features.conditional_rendering);
  CHECK(plan.extensions == std::vector<std::string>{VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME,
                                                    VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME,
                                                    VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME,
                                                    VK_EXT_MEMORY_BUDGET_EXTENSION_NAME});
  CHECK(plan.capabilities.has(Feature::Int64));
  CHECK(plan.quirks.empty());
  CHECK(notes(plan, "`Radeon RX 6800` is taken"));
  CHECK(notes(plan, "queue family 2"));
}

TEST_CASE("resizable BAR: written in place, read by staging, as the host's cache is passed by") {
  const DevicePlan plan = plan_of(rebar_device());
  CHECK(plan.memory.writes_in_place);
  CHECK_FALSE(plan.memory.reads_in_place);
  CHECK(plan.has(RuntimeFeature::InPlaceMemory));
  CHECK(plan.transfer_family == 2);  // what is read is copied
}

TEST_CASE("an integrated device: in place, and no queue for copies as there are none") {
  const DevicePlan plan = plan_of(integrated_device());
  CHECK(plan.memory.writes_in_place);
  CHECK(plan.memory.reads_in_place);
  CHECK_FALSE(plan.transfer_family);
  CHECK(plan.has(RuntimeFeature::InPlaceReads));
  CHECK_FALSE(plan.has(RuntimeFeature::TransferQueue));
  CHECK(notes(plan, "nothing is staged"));

  SUBCASE("it is used where bytes are staged, or where it is asked for") {
    CHECK(masked(integrated_device(), "-in_place_memory").transfer_family == 1);
    CHECK(masked(integrated_device(), "transfer_queue").transfer_family == 1);
    CHECK_FALSE(masked(integrated_device(), "-in_place_memory,-transfer_queue").transfer_family);
  }
  SUBCASE("it can be read by staging, as a device past the host's cache is") {
    const DevicePlan staged = masked(integrated_device(), "-in_place_reads");
    CHECK(staged.memory.writes_in_place);
    CHECK_FALSE(staged.memory.reads_in_place);
    CHECK_FALSE(staged.has(RuntimeFeature::InPlaceReads));
    CHECK(staged.has(RuntimeFeature::InPlaceMemory));
    CHECK(staged.transfer_family == 1);
    CHECK(notes(staged, "turns reading in place off"));
    CHECK_FALSE(masked(integrated_device(), "-in_place_memory").has(RuntimeFeature::InPlaceReads));
  }
}

TEST_CASE("memory in place is decided by heap and cache") {
  DeviceSnapshot device = integrated_device();
  SUBCASE("without a cached type it is read by staging") {
    device.memory_types.pop_back();
    CHECK(memory_strategy(device).writes_in_place);
    CHECK_FALSE(memory_strategy(device).reads_in_place);
  }
  SUBCASE("a cached type that is not the device's own does not help") {
    device.memory_types.back().flags = kMapped | kCached;
    CHECK_FALSE(memory_strategy(device).reads_in_place);
  }
  SUBCASE("a cached type in a small heap does not help") {
    device.memory_heaps.push_back({256 * kMiB, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT});
    device.memory_types.back().heap = 1;
    CHECK(memory_strategy(device).writes_in_place);
    CHECK_FALSE(memory_strategy(device).reads_in_place);
  }
  SUBCASE("memory that needs flushing is in place all the same") {
    device.memory_types.back().flags = kLocal | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | kCached;
    CHECK(memory_strategy(device).reads_in_place);
  }
  SUBCASE("types for special purposes are left alone") {
    device.memory_types = {{kLocal | kMapped | VK_MEMORY_PROPERTY_DEVICE_UNCACHED_BIT_AMD, 0}};
    CHECK_FALSE(memory_strategy(device).writes_in_place);
  }
  SUBCASE("a device that states no memory is staged") {
    device.memory_heaps.clear();
    CHECK_FALSE(memory_strategy(device).writes_in_place);
    CHECK_FALSE(memory_strategy(device).why.empty());
  }
}

TEST_CASE("a 1.1 device with nothing optional can be used, without any extension") {
  const DevicePlan plan = plan_of(bare_device());
  CHECK(plan.runtime.none());
  CHECK(plan.extensions.empty());
  CHECK(plan.capabilities.features.none());
  CHECK_FALSE(plan.features.timeline_semaphore);
  CHECK_FALSE(plan.transfer_family);
  CHECK_FALSE(plan.memory.writes_in_place);
}

TEST_CASE("what later versions contain is an extension of earlier ones") {
  DeviceSnapshot device = bare_device();
  device.features.timeline_semaphore = true;
  device.features.synchronization2 = true;
  device.extensions = {VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME,
                       VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME};
  CHECK(plan_of(device).extensions == device.extensions);
  device.api_version = VK_API_VERSION_1_2;
  CHECK(plan_of(device).extensions ==
        std::vector<std::string>{VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME});
  device.api_version = VK_API_VERSION_1_3;
  CHECK(plan_of(device).extensions.empty());
  CHECK(plan_of(device).has(RuntimeFeature::TimelineSemaphores));
  CHECK(plan_of(device).has(RuntimeFeature::Synchronization2));

  SUBCASE("an extension without its feature is not turned on") {
    device.api_version = VK_API_VERSION_1_1;
    device.features.synchronization2 = false;
    CHECK(plan_of(device).extensions ==
          std::vector<std::string>{VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME});
  }
  SUBCASE("features of kernels bring their extensions too") {
    device.api_version = VK_API_VERSION_1_1;
    device.extensions = {VK_KHR_8BIT_STORAGE_EXTENSION_NAME, VK_EXT_ROBUSTNESS_2_EXTENSION_NAME,
                         VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME};
    device.features.storage8 = true;
    device.features.robust_access = device.features.robust_access2 = true;
    device.features.null_descriptor = true;
    CHECK(turns_on(plan_of(device), VK_KHR_8BIT_STORAGE_EXTENSION_NAME));
    CHECK(turns_on(plan_of(device), VK_EXT_ROBUSTNESS_2_EXTENSION_NAME));
    CHECK(turns_on(plan_of(device), VK_KHR_SHADER_FLOAT_CONTROLS_EXTENSION_NAME));
    CHECK_FALSE(turns_on(masked(device, "-storage8"), VK_KHR_8BIT_STORAGE_EXTENSION_NAME));
    CHECK_FALSE(turns_on(masked(device, "none"), VK_EXT_ROBUSTNESS_2_EXTENSION_NAME));
  }
}

TEST_CASE("a device that is not fully Vulkan has its extension turned on, under every mask") {
  const DevicePlan plan = plan_of(portability_device());
  CHECK(turns_on(plan, kPortabilitySubset));
  CHECK(turns_on(plan, VK_KHR_SYNCHRONIZATION_2_EXTENSION_NAME));
  CHECK_FALSE(turns_on(plan, VK_KHR_TIMELINE_SEMAPHORE_EXTENSION_NAME));  // in 1.2
  CHECK(plan.has(RuntimeFeature::TimelineSemaphores));
  CHECK_FALSE(plan.has(RuntimeFeature::ExternalHostMemory));
  CHECK(plan.memory.reads_in_place);
  CHECK(masked(portability_device(), "none").extensions ==
        std::vector<std::string>{kPortabilitySubset});
}

TEST_CASE("each runtime feature can be masked off, and only what needs it goes with it") {
  DeviceSnapshot device = rebar_device();
  const DevicePlan whole = plan_of(device);
  constexpr auto kReads = static_cast<std::size_t>(RuntimeFeature::InPlaceReads);
  REQUIRE(RuntimeFeatures(whole.runtime).set(kReads).all());  // it reads by staging
  for (std::size_t i = 0; i < kRuntimeFeatureCount; ++i) {
    const RuntimeFeatureInfo& row = info(static_cast<RuntimeFeature>(i));
    CAPTURE(row.name);
    CHECK(row.feature == static_cast<RuntimeFeature>(i));
    CHECK_FALSE(row.means.empty());
    const DevicePlan plan = masked(device, "-" + std::string(row.name));
    RuntimeFeatures left = whole.runtime;
    left.reset(i);
    // Queues wait for each other by such semaphores.
    if (row.feature == RuntimeFeature::TimelineSemaphores) {
      left.reset(static_cast<std::size_t>(RuntimeFeature::TransferQueue));
    }
    CHECK(plan.runtime == left);
    CHECK(plan.capabilities.features == whole.capabilities.features);
  }
  CHECK_FALSE(masked(device, "-timeline_semaphores").features.timeline_semaphore);
  CHECK_FALSE(masked(device, "-synchronization2").features.synchronization2);
  CHECK_FALSE(masked(device, "-conditional_rendering").features.conditional_rendering);
  CHECK_FALSE(masked(device, "-transfer_queue").transfer_family);
  CHECK_FALSE(masked(device, "-in_place_memory").memory.writes_in_place);
  for (const auto& [mask, extension] :
       {std::pair("-push_descriptors", VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME),
        std::pair("-external_host_memory", VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME),
        std::pair("-memory_budget", VK_EXT_MEMORY_BUDGET_EXTENSION_NAME),
        std::pair("-conditional_rendering", VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME)}) {
    CHECK(turns_on(whole, extension));
    CHECK_FALSE(turns_on(masked(device, mask), extension));
  }
}

TEST_CASE("the extension alone does not give conditional rendering") {
  DeviceSnapshot device = rebar_device();
  device.features.conditional_rendering = false;
  CHECK_FALSE(plan_of(device).has(RuntimeFeature::ConditionalRendering));
  CHECK_FALSE(turns_on(plan_of(device), VK_EXT_CONDITIONAL_RENDERING_EXTENSION_NAME));
}

TEST_CASE("a list applies from left to right, to kernels and runtime alike") {
  const DeviceSnapshot device = rebar_device();
  const DevicePlan none = masked(device, "none");
  CHECK(none.runtime.none());
  CHECK(none.capabilities.features.none());
  CHECK_FALSE(none.memory.writes_in_place);
  CHECK_FALSE(none.features.timeline_semaphore);
  CHECK(none.extensions.empty());
  CHECK(notes(none, "The mask leaves memory in place unused"));

  const DevicePlan some = masked(device, "none,int64,timeline_semaphores,spirv=1.3");
  CHECK(some.runtime.count() == 1);
  CHECK(some.has(RuntimeFeature::TimelineSemaphores));
  CHECK(some.capabilities.features.count() == 1);
  CHECK(some.capabilities.spirv_version == 0x0001'0300);

  CHECK_FALSE(masked(device, "memory_budget,-memory_budget").has(RuntimeFeature::MemoryBudget));
  CHECK(masked(device, "-memory_budget,memory_budget").has(RuntimeFeature::MemoryBudget));
  CHECK(masked(device, "timeline_semaphores,none").runtime.none());
}

TEST_CASE("`all` asks kernels' features of the device, and of the runtime's what there is") {
  DeviceSnapshot device = bare_device();
  const auto refused = plan_device(std::vector{device}, {.mask = "all"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("int64") != std::string::npos);
  const RuntimeFeatures rebar = runtime_features_of(rebar_device());
  CHECK(split_mask("none,all", rebar).on == rebar);
  CHECK(split_mask("all", runtime_features_of(device)).on.none());
}

TEST_CASE("a runtime feature that the device lacks is refused by name") {
  for (std::size_t i = 0; i < kRuntimeFeatureCount; ++i) {
    const RuntimeFeatureInfo& row = info(static_cast<RuntimeFeature>(i));
    if (row.feature == RuntimeFeature::TransferQueue) continue;
    CAPTURE(row.name);
    const auto refused = plan_device(std::vector{bare_device()}, {.mask = std::string(row.name)});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::UnsupportedFeature);
    CHECK(refused.error().message.find(row.name) != std::string::npos);
    CHECK(refused.error().context.device == "Bare 1.1");
    CHECK_FALSE(refused.error().fix.empty());
    // To go without it is always possible.
    CHECK(plan_of(bare_device(), {.mask = "-" + std::string(row.name)}).runtime.none());
  }
  const auto two =
      plan_device(std::vector{bare_device()}, {.mask = "memory_budget,push_descriptors"});
  REQUIRE_FALSE(two);
  CHECK(two.error().message ==
        "The mask asks for more than the device has: feature push_descriptors, feature "
        "memory_budget.");
}

TEST_CASE("a queue for copies can be asked for wherever queues can wait for each other") {
  const DevicePlan plan = masked(software_device(), "transfer_queue");
  CHECK(plan.has(RuntimeFeature::TransferQueue));
  CHECK(plan.transfer_family == plan.compute_family);
  CHECK(notes(plan, "does the copies"));
  CHECK(masked(software_device(), "none,timeline_semaphores,transfer_queue").transfer_family == 0);
  for (const DevicePlan& without : {masked(bare_device(), "transfer_queue"),
                                    masked(software_device(), "none,transfer_queue")}) {
    CHECK_FALSE(without.has(RuntimeFeature::TransferQueue));
    CHECK_FALSE(without.transfer_family);
    CHECK(notes(without, "Copies run on the compute queue"));
  }
}

TEST_CASE("an entry that means nothing is answered with all names") {
  const auto refused = plan_device(std::vector{bare_device()}, {.mask = "none,bogus"});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::BadInputs);
  CHECK(refused.error().message.find("`bogus`") != std::string::npos);
  CHECK(refused.error().fix.find("int64") != std::string::npos);
  CHECK(refused.error().fix.find("timeline_semaphores") != std::string::npos);
}

TEST_CASE("capabilities given as such are held against the device, and the list changes them") {
  const DeviceSnapshot device = discrete_device();
  codegen::Capabilities narrow = capabilities_of(device);
  narrow.limits.workgroup_invocations = 64;
  const DevicePlan plan = plan_of(device, {.mask = "-int64", .capabilities = narrow});
  CHECK(plan.capabilities.limits.workgroup_invocations == 64);
  CHECK_FALSE(plan.capabilities.has(Feature::Int64));
  CHECK_FALSE(plan.features.int64);
  CHECK(plan.has(RuntimeFeature::TimelineSemaphores));
  narrow.limits.workgroup_invocations = 4096;
  CHECK_FALSE(plan_device(std::vector{device}, {.capabilities = narrow}));
}

TEST_CASE("a plan names the quirks of its driver, and lowers around them") {
  const DevicePlan plan = plan_of(software_device());
  CHECK(plan.quirks == std::vector<std::string>{"lavapipe-loop-limiter", "lavapipe-float-zeros",
                                                "lavapipe-linear-subgroups",
                                                "lavapipe-not-co-resident"});
  CHECK(plan.capabilities.loop_budget == 65535);
  DeviceSnapshot later = software_device();
  later.driver_info = "Mesa 25.0.7";
  CHECK(plan_of(later).quirks.size() == 4);
  CHECK(plan_of(later).capabilities.loop_budget == 0);
  // What a driver does badly is left alone there, unless it is asked for by name.
  CHECK(plan.has(RuntimeFeature::PushDescriptors));
  CHECK_FALSE(plan_of(later).has(RuntimeFeature::PushDescriptors));
  CHECK(masked(later, "push_descriptors").has(RuntimeFeature::PushDescriptors));
}
