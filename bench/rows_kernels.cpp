// Rows about the run time of kernels on the Vulkan device at hand. They measure throughput, so a
// submission takes milliseconds, and software drivers use all their threads.
#include <fmt/format.h>

#include <array>
#include <span>

#include "base/errors.h"
#include "on_device.h"

namespace felsite::bench {
namespace {

using ir::FloatMode;

std::uint32_t elements_of(const BenchKernel& kernel, Extent extent) {
  return by_extent(extent, kStencilWidth * 16, kernel.elements, 2 * kernel.elements);
}

std::string size_of(const BenchKernel& kernel, std::uint32_t elements) {
  const bool mebi = elements >= 1 << 20;
  return fmt::format("{}, {} {}i", kernel.name, elements >> (mebi ? 20 : 10), mebi ? 'M' : 'K');
}

// The kernels of all cases of a row on one device; a single line where there is none.
template <class MakeCase>
std::vector<Case> each_on_device(std::span<const BenchKernel* const> kernels, Extent extent,
                                 const MakeCase& make_case) {
  const auto device = open_shared_device();
  if (!device) return {skipped_case(device.error())};
  std::vector<Case> cases;
  for (const BenchKernel* kernel : kernels) {
    cases.push_back(make_case(*device, *kernel, elements_of(*kernel, extent)));
  }
  return cases;
}

// The peers are what an expert writes for the job, on a device without robust access.
std::vector<Case> expert_cases(std::span<const BenchKernel* const> kernels, FloatMode mode,
                               Extent extent) {
  const auto raw = RawDevice::open();
  if (!raw) return {skipped_case(raw.error())};
  return each_on_device(
      kernels, extent,
      [&](const SharedDevice& device, const BenchKernel& kernel, std::uint32_t elements) {
        const ir::Program program = program_of(kernel, mode);
        const Workload workload = workload_of(program, elements);
        return contest(size_of(kernel, elements), program, felsite_on(device, program, workload),
                       "GLSL by an expert, raw Vulkan",
                       raw_peer_on(*raw, kernel, program, workload, elements), extent);
      });
}

// The same raw program on both sides, with buffers of its own on each: the noise of the device.
std::vector<Case> kernel_control_cases(Extent extent) {
  const auto raw = RawDevice::open();
  if (!raw) return {skipped_case(raw.error())};
  const std::uint32_t elements = elements_of(kSaxpy, extent);
  const ir::Program program = program_of(kSaxpy, FloatMode::Fast);
  const Workload workload = workload_of(program, elements);
  return {contest(size_of(kSaxpy, elements), program,
                  raw_peer_on(*raw, kSaxpy, program, workload, elements), "the same program",
                  raw_peer_on(*raw, kSaxpy, program, workload, elements), extent)};
}

std::vector<Case> fast_glslang_cases(Extent extent) {
  return expert_cases(kernels_with_peers(), FloatMode::Fast, extent);
}

// The kernels without floats are the same in both modes.
std::vector<Case> exact_glslang_cases(Extent extent) {
  const std::array kernels{&kSaxpy, &kStencil};
  return expert_cases(kernels, FloatMode::Exact, extent);
}

std::vector<Case> exact_cases(Extent extent) {
  const std::array kernels{&kSaxpyFma, &kNormalise, &kPolynomial};
  return each_on_device(
      kernels, extent,
      [&](const SharedDevice& device, const BenchKernel& kernel, std::uint32_t elements) {
        const ir::Program exact = program_of(kernel, FloatMode::Exact);
        const ir::Program fast = program_of(kernel, FloatMode::Fast);
        const Workload workload = workload_of(exact, elements);
        return contest(size_of(kernel, elements), exact, felsite_on(device, exact, workload),
                       "Felsite, fast floats", felsite_on(device, fast, workload), extent);
      });
}

// With robust access the device keeps small indices harmless and the kernel tests nothing; without
// it, on a device that was opened without, the kernel tests each access itself.
std::vector<Case> check_cases(Extent extent) {
  const auto device = open_shared_device();
  if (!device) return {skipped_case(device.error())};
  codegen::Capabilities mask = (*device)->capabilities();
  if (!mask.has(codegen::Feature::RobustAccess2)) {
    return {skipped_case(
        base::unsupported("The device lacks robust_access2.", "run it on a device that has it."))};
  }
  // Of a larger grid the indices would not be small, and the checks would be in both kernels.
  mask.limits.workgroup_count = codegen::DeviceLimits{}.workgroup_count;
  const auto unchecked = open_shared_device({.capabilities = mask});
  if (!unchecked) return {skipped_case(unchecked.error())};
  const auto checked =
      open_shared_device({.capabilities = mask.without(codegen::Feature::RobustAccess2)});
  if (!checked) return {skipped_case(checked.error())};
  std::vector<Case> cases;
  for (const BenchKernel* kernel : {&kSaxpyUnguarded, &kStencilUnguarded}) {
    const ir::Program program = program_of(*kernel, FloatMode::Fast);
    const std::uint32_t elements = elements_of(*kernel, extent);
    const Workload workload = workload_of(program, elements);
    cases.push_back(contest(size_of(*kernel, elements), program,
                            felsite_on(*checked, program, workload), "without checks",
                            felsite_on(*unchecked, program, workload), extent));
  }
  return cases;
}

}  // namespace

std::vector<Row> kernel_rows() {
  return {
      {"control_device", "The same raw program on both sides: the noise of the device", 0,
       kernel_control_cases},
      {"kernels_vs_glslang", "Kernels with fast floats, beside GLSL as an expert writes it", 1.05,
       fast_glslang_cases},
      {"kernels_vs_glslang_exact", "Those with floats once more, with exact ones", 1.25,
       exact_glslang_cases},
      {"exact_vs_fast", "Exact beside fast floats: fma, division and root, Horner", 1.25,
       exact_cases},
      {"bounds_checks", "Bounds checks beside robust access", 1.10, check_cases},
  };
}

}  // namespace felsite::bench
