#include <doctest/doctest.h>

#include <algorithm>

#include "vk/plan/device_capabilities.h"
#include "vk/plan/feature_chain.h"
#include "vk/plan/quirks.h"

using namespace felsite;
using namespace felsite::vk;
using codegen::Capabilities;
using codegen::Feature;

namespace {

DeviceSnapshot nothing_optional() {
  DeviceSnapshot device;
  device.name = "bare";
  device.queue_families = {{VK_QUEUE_COMPUTE_BIT, 1, 0}};
  return device;
}

DeviceSnapshot lavapipe(std::string driver_info) {
  DeviceSnapshot device = nothing_optional();
  device.name = "llvmpipe";
  device.api_version = VK_API_VERSION_1_3;
  device.type = VK_PHYSICAL_DEVICE_TYPE_CPU;
  device.driver = VK_DRIVER_ID_MESA_LLVMPIPE;
  device.driver_version = 1;
  device.driver_info = std::move(driver_info);
  device.features = {.int64 = true,
                     .float64 = true,
                     .storage8 = true,
                     .storage16 = true,
                     .buffer_atomics64 = true,
                     .shared_atomics64 = true,
                     .buffer_float_atomic_add = true,
                     .shared_float_atomic_add = true,
                     .memory_model = true,
                     .memory_model_device_scope = true,
                     .subgroup_extended_types = true,
                     .robust_access = true,
                     .robust_access2 = true,
                     .null_descriptor = true,
                     .maintenance4 = true};
  device.float_controls = {true, true, true, true};
  device.subgroups = {8,
                      VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT |
                          VK_SUBGROUP_FEATURE_ARITHMETIC_BIT,
                      VK_SHADER_STAGE_COMPUTE_BIT};
  device.limits.workgroup_invocations = 1024;
  return device;
}

Capabilities mask_without(Capabilities mask, Feature feature) {
  mask.features.reset(static_cast<std::size_t>(feature));
  return mask;
}

}  // namespace

TEST_CASE("a device with nothing optional has no feature and the limits Vulkan requires") {
  const Capabilities found = capabilities_of(nothing_optional());
  CHECK(found.features.none());
  CHECK(found.spirv_version == 0x0001'0300);
  CHECK(found.subgroup_size == 1);
  CHECK(found.loop_budget == 0);
  const codegen::DeviceLimits required;
  CHECK(found.limits.workgroup_size == required.workgroup_size);
  CHECK(found.limits.workgroup_count == required.workgroup_count);
  CHECK(found.limits.storage_buffers == required.storage_buffers);
  CHECK(found.limits.push_constant_bytes == required.push_constant_bytes);
}

TEST_CASE("a lavapipe has every feature, and its loop budget depends on its age") {
  const Capabilities old = capabilities_of(lavapipe("Mesa 22.3.6 (LLVM 15.0.6)"));
  CHECK(old.features.all());
  CHECK(old.subgroup_size == 8);
  CHECK(old.spirv_version == 0x0001'0600);
  CHECK(old.limits.workgroup_invocations == 1024);
  CHECK(old.loop_budget == 65535);
  CHECK(capabilities_of(lavapipe("Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)")).loop_budget == 0);
  CHECK(capabilities_of(lavapipe("Mesa 24.3.4")).loop_budget == 65535);
  CHECK(capabilities_of(lavapipe("git main")).loop_budget == 65535);
  CHECK(capabilities_of(lavapipe("Mesa ")).loop_budget == 65535);
}

TEST_CASE("a lavapipe whose LLVM may abort says so, from LLVM 19 on") {
  const auto has_quirk = [](const DeviceSnapshot& device) {
    DeviceProfile profile;
    note_quirks(device, profile);
    return std::ranges::count(profile.quirks, "lavapipe-llvm-avx512") == 1;
  };
  CHECK_FALSE(has_quirk(lavapipe("Mesa 25.0.7-2~bpo12+1 (LLVM 15.0.6)")));
  CHECK_FALSE(has_quirk(lavapipe("Mesa 25.0.7 (LLVM 18.1.8)")));
  CHECK(has_quirk(lavapipe("Mesa 25.0.7-2 (LLVM 19.1.7)")));
  CHECK(has_quirk(lavapipe("Mesa 26.0.0 (LLVM 21.1.0)")));
  CHECK_FALSE(has_quirk(lavapipe("git main")));
}

TEST_CASE("quirks belong to their driver") {
  DeviceSnapshot other = lavapipe("Mesa 22.3.6");
  other.driver = VK_DRIVER_ID_MESA_RADV;
  CHECK(capabilities_of(other).loop_budget == 0);
  CHECK_FALSE(capabilities_of(other).has(Feature::LinearSubgroups));
  other.driver = VK_DRIVER_ID_GOOGLE_SWIFTSHADER;
  CHECK(capabilities_of(other).loop_budget == 0);
  CHECK(capabilities_of(other).has(Feature::LinearSubgroups));
  for (const Quirk& quirk : quirks()) {
    CHECK_FALSE(quirk.name.empty());
    CHECK_FALSE(quirk.why.empty());
  }
}

TEST_CASE("a quirk takes back what the profile promised") {
  const auto noted = [](VkDriverId driver) {
    DeviceSnapshot device = lavapipe("Mesa 25.0.7");
    device.driver = driver;
    DeviceProfile profile;
    profile.persistent_threads = true;
    profile.f64 = true;
    note_quirks(device, profile);
    CHECK(profile.f64);
    return profile;
  };
  const DeviceProfile on_lavapipe = noted(VK_DRIVER_ID_MESA_LLVMPIPE);
  CHECK_FALSE(on_lavapipe.persistent_threads);
  CHECK(std::ranges::count(on_lavapipe.quirks, "lavapipe-not-co-resident") == 1);
  const DeviceProfile on_swiftshader = noted(VK_DRIVER_ID_GOOGLE_SWIFTSHADER);
  CHECK_FALSE(on_swiftshader.persistent_threads);
  CHECK(std::ranges::count(on_swiftshader.quirks, "swiftshader-not-co-resident") == 1);
  const DeviceProfile on_hardware = noted(VK_DRIVER_ID_MESA_RADV);
  CHECK(on_hardware.persistent_threads);
  CHECK(on_hardware.quirks.empty());
}

TEST_CASE("a feature needs what it builds on") {
  DeviceSnapshot device = lavapipe("Mesa 25.0.7");
  SUBCASE("64-bit atomics need 64-bit integers") {
    device.features.int64 = false;
    CHECK_FALSE(capabilities_of(device).has(Feature::Atomics64));
    CHECK_FALSE(capabilities_of(device).has(Feature::SharedAtomics64));
  }
  SUBCASE("subgroup operations must be there for compute") {
    device.subgroups.stages = VK_SHADER_STAGE_FRAGMENT_BIT;
    CHECK_FALSE(capabilities_of(device).has(Feature::SubgroupBallot));
    CHECK_FALSE(capabilities_of(device).has(Feature::SubgroupShuffle));
    CHECK_FALSE(capabilities_of(device).has(Feature::SubgroupArithmetic));
  }
  SUBCASE("each subgroup operation counts for itself") {
    device.subgroups.operations = VK_SUBGROUP_FEATURE_BALLOT_BIT;
    CHECK(capabilities_of(device).has(Feature::SubgroupBallot));
    CHECK_FALSE(capabilities_of(device).has(Feature::SubgroupShuffle));
    CHECK_FALSE(capabilities_of(device).has(Feature::SubgroupArithmetic));
  }
  SUBCASE("the smaller of the limits on storage buffers counts") {
    device.limits.storage_buffers_per_stage = 32;
    device.limits.storage_buffers_per_set = 20;
    CHECK(capabilities_of(device).limits.storage_buffers == 20);
  }
}

TEST_CASE("the SPIR-V version follows the Vulkan version") {
  DeviceSnapshot device = nothing_optional();
  device.api_version = VK_MAKE_API_VERSION(0, 1, 1, 300);
  CHECK(capabilities_of(device).spirv_version == 0x0001'0300);
  device.api_version = VK_MAKE_API_VERSION(0, 1, 2, 131);
  CHECK(capabilities_of(device).spirv_version == 0x0001'0500);
  device.api_version = VK_MAKE_API_VERSION(0, 1, 3, 0);
  CHECK(capabilities_of(device).spirv_version == 0x0001'0600);
}

TEST_CASE("a narrower mask is served, a wider one is answered with all reasons") {
  const Capabilities found = capabilities_of(lavapipe("Mesa 22.3.6"));
  CHECK(excess_of(found, found).empty());
  Capabilities mask = mask_without(found, Feature::Int64);
  mask.loop_budget = 100;
  mask.limits.shared_bytes = 1024;
  CHECK(excess_of(mask, found).empty());

  mask = found;
  mask.loop_budget = 0;
  mask.subgroup_size = 32;
  mask.spirv_version = 0x0001'0700;
  mask.limits.workgroup_size[1] = 4096;
  mask.limits.push_constant_bytes = 256;
  CHECK(excess_of(mask, found).size() == 5);
  CHECK(excess_of(mask, mask_without(found, Feature::Storage8)).size() == 6);
  CHECK(excess_of(mask, mask_without(found, Feature::Storage8)).front() ==
        "feature " + std::string(info(Feature::Storage8).name));
}

TEST_CASE("a mask turns on what it has and nothing else") {
  const DeviceSnapshot device = lavapipe("Mesa 25.0.7");
  const Capabilities found = capabilities_of(device);
  CHECK(features_for(device, found, {}).robust_access);
  CHECK(features_for(device, found, {}).int64);
  const OptionalFeatures on = features_for(
      device, mask_without(mask_without(found, Feature::RobustAccess2), Feature::MemoryModel), {});
  CHECK_FALSE(on.robust_access);
  CHECK_FALSE(on.robust_access2);
  CHECK_FALSE(on.memory_model);
  CHECK_FALSE(on.memory_model_device_scope);
  CHECK(on.int64);
  CHECK(on.maintenance4);
}

TEST_CASE("robust access without its second version stays off") {
  DeviceSnapshot device = nothing_optional();
  device.features.robust_access = true;
  CHECK_FALSE(features_for(device, capabilities_of(device), {}).robust_access);
}

TEST_CASE("only structs that the device knows are chained") {
  DeviceSnapshot device = nothing_optional();
  const auto length = [](FeatureChain& chain) {
    int count = 0;
    for (auto* next = static_cast<const VkBaseInStructure*>(chain.head()->pNext); next != nullptr;
         next = next->pNext) {
      ++count;
    }
    return count;
  };
  FeatureChain bare(device);
  CHECK(length(bare) == 1);  // 16-bit storage is core in Vulkan 1.1

  device.extensions = {VK_KHR_8BIT_STORAGE_EXTENSION_NAME, VK_EXT_ROBUSTNESS_2_EXTENSION_NAME};
  FeatureChain extended(device);
  CHECK(length(extended) == 3);

  device.api_version = VK_API_VERSION_1_3;
  FeatureChain modern(device);
  CHECK(length(modern) == 9);
}
