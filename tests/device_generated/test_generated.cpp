// Generated programs on the device and in the reference, byte for byte, on every path.
// FELSITE_SEED=n runs the one program of that seed; FELSITE_DEVICE_PROGRAMS=n runs so many.
#include <cstdlib>

#include "felsite/vulkan.h"
#include "support/dispatch_paths.h"
#include "support/on_device.h"
#include "support/program_generator.h"
#include "support/program_reducer.h"
#include "support/run_counts.h"

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
  const auto kernel = codegen::lower(codegen::Segment(valid(program)), mask);
  return !kernel && kernel.error().code == ErrorCode::UnsupportedFeature;
}

Backend& test_backend() {
  static const std::unique_ptr<Backend> backend = [] {
    auto made = make_vulkan_backend();
    if (!made) throw std::runtime_error(to_string(made.error()));
    return *std::move(made);
  }();
  return *backend;
}

// As device_difference, through the backend on every path. The kernel is compiled once for all of
// them, and once more for ranges.
std::string path_difference(const ir::Program& program, const std::vector<Bytes>& inputs,
                            Extent3 grid, RunCounts* counts = nullptr) {
  if (const auto kernel = lower_valid(program, device_mask()); !kernel) {
    return to_string(kernel.error());
  }
  const auto expected = run_on_reference(program, inputs, grid, device_mask().subgroup_size);
  const std::vector<ByteSpan> spans(inputs.begin(), inputs.end());
  DispatchConfig config;
  config.grid_override = grid;
  for (const PathName& path : kPaths) {
    const auto found = run_path(path.path, test_backend(), program, spans, config);
    if (counts != nullptr) counts->ran(path.name);
    if (!expected && !found && expected.error().code == found.error().code) continue;
    const std::string name = path.name;
    if (!expected) return name + ", the reference: " + to_string(expected.error());
    if (!found) return name + ", the device: " + to_string(found.error());
    const std::string bytes = difference(program, *expected, found->outputs);
    if (!bytes.empty()) return name + ": " + bytes;
  }
  return "";
}

// `on_paths`: through the backend; otherwise by the kernel alone, on the device as it is masked.
void compare(vk::Device& device, Seeds range, ProgramGenerator::Kind kind, bool on_paths) {
  const codegen::Capabilities& mask = device.capabilities();
  std::uint64_t refused = 0;
  RunCounts counts;
  for (std::uint64_t seed = range.first; seed < range.last; ++seed) {
    ProgramGenerator generator(seed, kind);
    generator.for_device(mask.has(Feature::Float64), mask.has(Feature::Atomics64),
                         mask.has(Feature::SharedAtomics64));
    const std::string text = generator.text();
    const ir::Program program = valid_program(text);
    const auto differs = [&](const ir::Program& candidate, const std::vector<Bytes>& inputs) {
      return on_paths ? path_difference(candidate, inputs, generator.grid())
                      : device_difference(device, candidate, inputs, generator.grid());
    };
    // A shape of workgroup that subgroups do not fit is refused; that is no difference.
    if (kind == ProgramGenerator::Kind::Subgroups && is_refused(program, mask)) {
      ++refused;
      continue;
    }
    const std::string found =
        on_paths ? path_difference(program, generator.inputs(), generator.grid(), &counts)
                 : differs(program, generator.inputs());
    if (found.empty()) continue;
    INFO("FELSITE_SEED=" << seed << ": " << found);
    const std::string file =
        write_reduced(seed, text, generator.inputs(), generator.grid(), differs);
    FAIL_CHECK("reduced to " << file);
  }
  CHECK(refused * 3 <= range.last - range.first);
  if (!on_paths) return;
  counts.print("Generated programs");
  for (const PathName& path : kPaths) {
    CHECK(counts.of(path.name) == range.last - range.first - refused);
  }
}

}  // namespace

TEST_CASE("generated programs give the reference's bytes") {
  compare(test_device(), seeds(1, 1500), ProgramGenerator::Kind::Plain, /*on_paths=*/true);
}

TEST_CASE("generated programs with subgroup operations give the reference's bytes") {
  compare(test_device(), seeds(100'000, 150), ProgramGenerator::Kind::Subgroups,
          /*on_paths=*/true);
}

TEST_CASE("generated programs give the reference's bytes with every optional feature masked off") {
  codegen::Capabilities mask = device_mask();
  mask.features.reset();
  mask.spirv_version = 0x0001'0300;
  compare(test_device(mask), seeds(200'000, 250), ProgramGenerator::Kind::Plain,
          /*on_paths=*/false);
}
