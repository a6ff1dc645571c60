// Features of the device masked off, one by one: the same bytes by another lowering.
#include "support/on_device.h"
#include "support/program_generator.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

namespace {

// A 64-bit atomic needs the integers.
codegen::Capabilities without(const codegen::Capabilities& mask, Feature feature) {
  if (feature != Feature::Int64) return mask.without(feature);
  return mask.without(feature).without(Feature::Atomics64).without(Feature::SharedAtomics64);
}

void check_generated(vk::Device& device, std::uint64_t first, std::uint64_t count) {
  const codegen::Capabilities& mask = device.capabilities();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    ProgramGenerator generator(seed);
    generator.for_device(mask.has(Feature::Float64), mask.has(Feature::Atomics64),
                         mask.has(Feature::SharedAtomics64));
    const std::string text = generator.text();
    INFO("features " << mask.features.to_string() << ", seed " << seed << "\n" << text);
    CHECK(device_difference(device, valid_program(text), generator.inputs(), generator.grid()) ==
          "");
  }
}

std::vector<Feature> optional_features() {
  std::vector<Feature> features;
  for (std::size_t f = 0; f < codegen::kFeatureCount; ++f) {
    if (device_mask().has(static_cast<Feature>(f))) features.push_back(static_cast<Feature>(f));
  }
  return features;
}

}  // namespace

TEST_CASE("each feature masked off alone: generated programs give the same bytes") {
  for (const Feature feature : optional_features()) {
    CAPTURE(codegen::info(feature).name);
    check_generated(test_device(without(device_mask(), feature)),
                    500'000 + 100 * static_cast<std::uint64_t>(feature), 10);
  }
}

TEST_CASE("each pair of features masked off: a generated program gives the same bytes") {
  const std::vector<Feature> features = optional_features();
  for (std::size_t a = 0; a < features.size(); ++a) {
    for (std::size_t b = a + 1; b < features.size(); ++b) {
      // Opened for this one alone: a hundred open devices would be too many.
      const auto device = vk::open_device(
          {.capabilities = without(without(device_mask(), features[a]), features[b])});
      REQUIRE(device.has_value());
      check_generated(**device, 510'000 + a * 100 + b, 1);
    }
  }
}

TEST_CASE("each feature alone, all others masked off: generated programs give the same bytes") {
  codegen::Capabilities none = device_mask();
  none.features.reset();
  for (const Feature feature : optional_features()) {
    CAPTURE(codegen::info(feature).name);
    codegen::Capabilities mask = none.with(feature);
    if (feature == Feature::Atomics64 || feature == Feature::SharedAtomics64) {
      mask = mask.with(Feature::Int64);
    }
    const auto device = vk::open_device({.capabilities = mask});
    REQUIRE(device.has_value());
    check_generated(**device, 520'000 + 100 * static_cast<std::uint64_t>(feature), 2);
  }
}

TEST_CASE("every version of SPIR-V that the device takes") {
  for (std::uint32_t minor = 3; minor <= 6; ++minor) {
    codegen::Capabilities mask = device_mask();
    if (mask.spirv_version < (0x0001'0000u | minor << 8)) continue;
    mask.spirv_version = 0x0001'0000u | minor << 8;
    CAPTURE(minor);
    check_generated(test_device(mask), 600'000, 10);
  }
}

TEST_CASE("a loop budget of a few trips: loops are unrolled or checked, and the bytes stay") {
  for (const std::uint32_t budget : {3U, 8U}) {
    codegen::Capabilities mask = device_mask();
    mask.loop_budget = budget;
    CAPTURE(budget);
    check_generated(test_device(mask), 610'000, 30);
  }
}
