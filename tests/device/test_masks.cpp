// Features of the device masked off, one by one: the same bytes by another way.
#include "support/on_device.h"
#include "support/program_generator.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

TEST_CASE("each feature masked off alone: generated programs give the same bytes") {
  for (std::size_t f = 0; f < codegen::kFeatureCount; ++f) {
    const auto feature = static_cast<Feature>(f);
    if (!device_mask().has(feature)) continue;
    codegen::Capabilities mask = device_mask().without(feature);
    // A 64-bit atomic needs the integers.
    if (feature == Feature::Int64) {
      mask = mask.without(Feature::Atomics64).without(Feature::SharedAtomics64);
    }
    CAPTURE(codegen::info(feature).name);
    for (std::uint64_t seed = 500'000 + f * 100; seed < 500'012 + f * 100; ++seed) {
      ProgramGenerator generator(seed);
      generator.for_device(mask.has(Feature::Float64), mask.has(Feature::Atomics64),
                           mask.has(Feature::SharedAtomics64));
      const std::string text = generator.text();
      INFO("FELSITE_SEED=" << seed << "\n" << text);
      CHECK(device_difference(test_device(mask), valid_program(text), generator.inputs(),
                              generator.grid()) == "");
    }
  }
}

TEST_CASE("every version of SPIR-V that the device takes") {
  for (std::uint32_t minor = 3; minor <= 6; ++minor) {
    codegen::Capabilities mask = device_mask();
    if (mask.spirv_version < (0x0001'0000u | minor << 8)) continue;
    mask.spirv_version = 0x0001'0000u | minor << 8;
    CAPTURE(minor);
    for (std::uint64_t seed = 600'000; seed < 600'010; ++seed) {
      ProgramGenerator generator(seed);
      generator.for_device(mask.has(Feature::Float64), mask.has(Feature::Atomics64),
                           mask.has(Feature::SharedAtomics64));
      const std::string text = generator.text();
      INFO("FELSITE_SEED=" << seed << "\n" << text);
      CHECK(device_difference(test_device(mask), valid_program(text), generator.inputs(),
                              generator.grid()) == "");
    }
  }
}
