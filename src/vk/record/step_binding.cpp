#include "vk/record/step_binding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/schedule/grid_kernels.h"
#include "vk/instance/vulkan_error.h"
#include "vk/record/sequence_layout.h"

namespace felsite::vk {
namespace {

using codegen::Parameter;
using codegen::ParameterKind;

using GateWords = dispatch::IndirectGateWords;

// What the kernel takes as parameters, as Kernel::parameters lists them.
Result<std::vector<std::uint32_t>> parameter_words(const KernelOnDevice& on,
                                                   std::span<const std::uint64_t> counts,
                                                   const Extent3& grid,
                                                   std::span<const std::uint32_t> supplied) {
  std::vector<std::uint32_t> words;
  for (const Parameter& parameter : on.kernel.parameters) {
    switch (parameter.kind) {
      case ParameterKind::Grid:
        words.push_back(grid[parameter.ref]);
        break;
      case ParameterKind::Base:
        words.push_back(0);  // each part of the grid has its own
        break;
      case ParameterKind::Length:
        words.push_back(static_cast<std::uint32_t>(counts[parameter.ref]));
        break;
      case ParameterKind::Variable:
        if (parameter.ref >= supplied.size()) {
          return std::unexpected(on.with_context(base::bad_inputs(
              fmt::format("The segment's parameter {} was given no value.", parameter.ref),
              "give all elements of the segment's parameters.")));
        }
        words.push_back(supplied[parameter.ref]);
        break;
    }
  }
  return words;
}

}  // namespace

Result<KernelStep> make_kernel_step(SharedKernel kernel, std::span<const std::uint64_t> counts,
                                    std::span<const BufferSlice> buffers, const Extent3& grid,
                                    std::span<const std::uint32_t> supplied) {
  KernelStep step;
  FELSITE_TRY(step.parameters, parameter_words(*kernel, counts, grid, supplied));
  for (const codegen::BufferBinding& binding : kernel->kernel.buffers) {
    step.buffers.push_back(buffers[binding.buffer]);
  }
  step.kernel = std::move(kernel);
  step.grid = grid;
  return step;
}

Result<void> check_gate(const IndirectGate& gate, const DeviceProfile& device) {
  std::array<std::uint32_t, GateWords::kCount> words{};
  FELSITE_CHECK(
      gate.words.buffer->read(gate.words.offset, std::as_writable_bytes(std::span(words))));
  return dispatch::check_indirect_gate(words, gate.caller_step, device);
}

}  // namespace felsite::vk
