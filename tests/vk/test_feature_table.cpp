// Every row of the feature table, on made-up devices: one that does not know the feature, one that
// knows it by its extension, and one of the version that made it core.
#include <doctest/doctest.h>

#include <algorithm>

#include "vk/device/interop.h"
#include "vk/made_up_devices.h"
#include "vk/plan/device_capabilities.h"
#include "vk/plan/device_extensions.h"
#include "vk/plan/feature_chain.h"
#include "vk/plan/feature_table.h"

using namespace felsite;
using namespace felsite::vk;
using namespace felsite::test;
using codegen::Feature;

namespace {

constexpr std::uint32_t kOldest = VK_API_VERSION_1_1;

std::vector<std::uint32_t> positions() {
  std::vector<std::uint32_t> all(kFeatureTable.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

OptionalFeatures only(const FeatureRow& row) {
  OptionalFeatures on;
  on.*row.feature = true;
  return on;
}

bool becomes_core(const FeatureRow& row) { return row.word.in.core_version != kNeverCore; }
// Felsite needs Vulkan 1.1, so nothing that is in it is ever an extension.
bool can_be_extension(const FeatureRow& row) { return row.word.in.core_version > kOldest; }

DeviceSnapshot device_of_version(std::uint32_t version) {
  DeviceSnapshot device = bare_device();
  device.api_version = std::max(version, kOldest);
  return device;
}
DeviceSnapshot with_extension(const FeatureRow& row) {
  DeviceSnapshot device = device_of_version(kOldest);
  device.extensions = {row.word.in.extension};
  return device;
}
// All ways in which a device may know the feature.
std::vector<DeviceSnapshot> devices_with(const FeatureRow& row) {
  std::vector<DeviceSnapshot> devices;
  if (becomes_core(row)) devices.push_back(device_of_version(row.word.in.core_version));
  if (can_be_extension(row)) devices.push_back(with_extension(row));
  return devices;
}

int times_linked(FeatureChain& chain, VkStructureType type) {
  int count = 0;
  for (auto* link = reinterpret_cast<const VkBaseInStructure*>(chain.head()); link != nullptr;
       link = link->pNext) {
    if (link->sType == type) ++count;
  }
  return count;
}

// What a caller turned on: one word, in the struct that has it.
class CallersChain {
 public:
  explicit CallersChain(const FeatureWord& word)
      : struct_(std::make_unique<std::byte[]>(word.struct_bytes)) {
    head_.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    auto* link = reinterpret_cast<VkBaseOutStructure*>(&head_);
    if (word.in.type != head_.sType) {
      link = reinterpret_cast<VkBaseOutStructure*>(struct_.get());
      link->sType = word.in.type;
      head_.pNext = link;
    }
    word.of(*link) = VK_TRUE;
  }
  const VkPhysicalDeviceFeatures2* head() const { return &head_; }

 private:
  VkPhysicalDeviceFeatures2 head_{};
  std::unique_ptr<std::byte[]> struct_;
};

OptionalFeatures adopted(const DeviceSnapshot& device, const CallersChain& chain) {
  std::vector<const char*> extensions;
  for (const std::string& name : device.extensions) extensions.push_back(name.c_str());
  VulkanInterop interop;
  interop.api_version = device.api_version;
  interop.extensions = extensions;
  interop.features = chain.head();
  return restricted(device, interop).features;
}

bool is_used(const FeatureRow& row, const DeviceSnapshot& device) {
  if (const auto* feature = std::get_if<Feature>(&row.user)) {
    return capabilities_of(device).has(*feature);
  }
  if (const auto* feature = std::get_if<RuntimeFeature>(&row.user)) {
    return has(runtime_features_of(device), *feature);
  }
  return true;
}

// The features that a device with everything would have.
OptionalFeatures every_feature() {
  OptionalFeatures on;
  for (const FeatureRow& row : kFeatureTable) on.*row.feature = true;
  return on;
}

}  // namespace

TEST_CASE("a feature is asked for and turned on where a device knows it, and only there") {
  for (const std::uint32_t position : positions()) {
    CAPTURE(position);
    const FeatureRow& row = kFeatureTable[position];
    for (const DeviceSnapshot& device : devices_with(row)) {
      FeatureChain chain(device);
      CHECK(times_linked(chain, row.word.in.type) == 1);
      CHECK(features_in(chain.head()) == OptionalFeatures{});
      chain.write(only(row));
      CHECK(features_in(chain.head()) == only(row));
      chain.write({});
      CHECK(features_in(chain.head()) == OptionalFeatures{});
    }
    if (!can_be_extension(row)) continue;
    FeatureChain chain(device_of_version(kOldest));
    CHECK(times_linked(chain, row.word.in.type) == 0);
    chain.write(only(row));
    CHECK(features_in(chain.head()) == OptionalFeatures{});
  }
}

TEST_CASE("a feature turns its extension on, unless the device's version contains it") {
  for (const std::uint32_t position : positions()) {
    CAPTURE(position);
    const FeatureRow& row = kFeatureTable[position];
    using Names = std::vector<std::string>;
    if (can_be_extension(row)) {
      const DeviceSnapshot device = with_extension(row);
      CHECK(extensions_for(device, only(row), {}) == Names{row.word.in.extension});
      CHECK(extensions_for(device, {}, {}) == Names{});
    }
    if (becomes_core(row)) {
      DeviceSnapshot device = device_of_version(row.word.in.core_version);
      device.extensions = {row.word.in.extension};
      CHECK(extensions_for(device, only(row), {}) == Names{});
    }
  }
}

TEST_CASE("a caller's feature counts in either struct, where its extension is on or its version") {
  for (const std::uint32_t position : positions()) {
    CAPTURE(position);
    const FeatureRow& row = kFeatureTable[position];
    const CallersChain in_own_struct(row.word);
    for (const DeviceSnapshot& device : devices_with(row)) {
      CHECK(adopted(device, in_own_struct) == only(row));
    }
    if (can_be_extension(row)) {
      CHECK(adopted(device_of_version(kOldest), in_own_struct) == OptionalFeatures{});
    }
    if (row.version_word.of != nullptr) {
      const CallersChain in_version_struct(row.version_word);
      CHECK(adopted(device_of_version(row.word.in.core_version), in_version_struct) == only(row));
    }
  }
}

TEST_CASE("who needs a feature is there with it and not without it") {
  for (const std::uint32_t position : positions()) {
    CAPTURE(position);
    const FeatureRow& row = kFeatureTable[position];
    for (DeviceSnapshot device : devices_with(row)) {
      device.features = every_feature();
      CHECK(is_used(row, device));
      device.features.*row.feature = false;
      CHECK(is_used(row, device) == (row.role == FeatureRole::Welcome));
    }
  }
}

TEST_CASE("a feature is turned on for whom it is, and off where the mask leaves them out") {
  DeviceSnapshot device = device_of_version(VK_API_VERSION_1_3);
  device.features = every_feature();
  const codegen::Capabilities all = codegen::all_capabilities();
  const RuntimeFeatures all_runtime = RuntimeFeatures{}.set();
  CHECK(features_for(device, all, all_runtime) == every_feature());
  for (const std::uint32_t position : positions()) {
    CAPTURE(position);
    const FeatureRow& row = kFeatureTable[position];
    if (const auto* feature = std::get_if<Feature>(&row.user)) {
      CHECK_FALSE(features_for(device, all.without(*feature), all_runtime).*row.feature);
    } else if (const auto* used = std::get_if<RuntimeFeature>(&row.user)) {
      RuntimeFeatures rest = all_runtime;
      rest.reset(static_cast<std::size_t>(*used));
      CHECK_FALSE(features_for(device, all, rest).*row.feature);
    } else {
      CHECK(features_for(device, codegen::no_capabilities(), {}).*row.feature);
    }
    DeviceSnapshot lacking = device;
    lacking.features.*row.feature = false;
    CHECK_FALSE(features_for(lacking, all, all_runtime).*row.feature);
  }
}
