// Generated programs on the device and in the reference, byte for byte. FELSITE_SEED=n runs the one
// program of that seed; FELSITE_DEVICE_PROGRAMS=n runs so many.
#include <cstdlib>

#include "support/on_device.h"
#include "support/program_generator.h"
#include "support/program_reducer.h"

using namespace felsite;
using namespace felsite::test;
using codegen::Feature;

namespace {

struct Seeds {
  std::uint64_t first;
  std::uint64_t last;
};

Seeds seeds(std::uint64_t first, std::uint64_t count) {
  if (const char* one = std::getenv("FELSITE_SEED")) {
    const std::uint64_t seed = std::strtoull(one, nullptr, 0);
    return {seed, seed + 1};
  }
  if (const char* some = std::getenv("FELSITE_DEVICE_PROGRAMS")) {
    count = std::strtoull(some, nullptr, 0);
  }
  return {first, first + count};
}

bool is_refused(const ir::Program& program, const codegen::Capabilities& mask) {
  const auto kernel = codegen::lower(codegen::Segment(program), mask);
  return !kernel && kernel.error().code == ErrorCode::UnsupportedFeature;
}

void compare(vk::Device& device, Seeds range, ProgramGenerator::Kind kind) {
  const codegen::Capabilities& mask = device.capabilities();
  std::uint64_t refused = 0;
  for (std::uint64_t seed = range.first; seed < range.last; ++seed) {
    ProgramGenerator generator(seed, kind);
    generator.for_device(mask.has(Feature::Float64), mask.has(Feature::Atomics64),
                         mask.has(Feature::SharedAtomics64));
    const std::string text = generator.text();
    const ir::Program program = valid_program(text);
    const auto differs = [&](const ir::Program& candidate, const std::vector<Bytes>& inputs) {
      return device_difference(device, candidate, inputs, generator.grid());
    };
    // A shape of workgroup that subgroups do not fit is refused; that is no difference.
    if (kind == ProgramGenerator::Kind::Subgroups && is_refused(program, mask)) {
      ++refused;
      continue;
    }
    const std::string found = differs(program, generator.inputs());
    if (found.empty()) continue;
    INFO("FELSITE_SEED=" << seed << ": " << found);
    const std::string file =
        write_reduced(seed, text, generator.inputs(), generator.grid(), differs);
    FAIL_CHECK("reduced to " << file);
  }
  CHECK(refused * 3 <= range.last - range.first);
}

}  // namespace

TEST_CASE("generated programs give the reference's bytes") {
  compare(test_device(), seeds(1, 2000), ProgramGenerator::Kind::Plain);
}

TEST_CASE("generated programs with subgroup operations give the reference's bytes") {
  compare(test_device(), seeds(100'000, 150), ProgramGenerator::Kind::Subgroups);
}

TEST_CASE("generated programs give the reference's bytes with every optional feature masked off") {
  codegen::Capabilities mask = device_mask();
  mask.features.reset();
  mask.spirv_version = 0x0001'0300;
  compare(test_device(mask), seeds(200'000, 250), ProgramGenerator::Kind::Plain);
}
