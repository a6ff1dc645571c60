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

// Invocation ids have 32 bits, whatever the device allows.
Extent3 most_workgroups(const Device& device, const Extent3& workgroup_size) {
  Extent3 most = device.snapshot().limits.workgroup_count;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint64_t by_ids = (std::uint64_t{1} << 32) / workgroup_size[axis];
    most[axis] = static_cast<std::uint32_t>(std::min<std::uint64_t>(most[axis], by_ids));
  }
  return most;
}

// What the kernel takes as parameters, as Kernel::parameters lists them.
Result<std::vector<std::uint32_t>> parameter_words(const KernelOnDevice& on,
                                                   const dispatch::BindingPlan& plan,
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
        words.push_back(static_cast<std::uint32_t>(plan.buffers[parameter.ref].count));
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

Result<void> bind_gate(Pipelines& pipelines, Memory& memory, const StepRequest& request,
                       std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates) {
  const ir::Node& node = request.program.node(request.program.entry().begin);
  const Extent3 most = most_workgroups(memory.device(), request.program.workgroup_size());
  constexpr std::uint64_t kGateBytes = std::uint64_t{GateWords::kCount} * 4;
  FELSITE_TRY(const auto program, dispatch::indirect_gate_program(node.extra, most));
  FELSITE_TRY(auto kernel, pipelines.get(program));
  FELSITE_TRY(auto words, memory.make(Place::Control, kGateBytes, {request.name, "gate"}));
  // If the step never runs, its gate counts as open.
  FELSITE_CHECK(words->write(0, Bytes(kGateBytes)));

  const BufferSlice& source = request.buffers[node.ref];
  const std::array<BufferSlice, 2> buffers{source, BufferSlice{words, 0, kGateBytes}};
  dispatch::BindingPlan plan;
  plan.buffers.resize(2);
  plan.buffers[0].count = source.bytes / 4;
  plan.buffers[1].count = GateWords::kCount;
  FELSITE_TRY(auto step, make_kernel_step(std::move(kernel), plan, buffers, {1, 1, 1}));
  step.name = request.name + " gate";
  steps.push_back(std::move(step));
  gates.push_back({std::move(words), request.caller_step});
  return {};
}

}  // namespace

Result<KernelStep> make_kernel_step(SharedKernel kernel, const dispatch::BindingPlan& plan,
                                    std::span<const BufferSlice> buffers, const Extent3& grid,
                                    std::span<const std::uint32_t> supplied) {
  KernelStep step;
  FELSITE_TRY(step.parameters, parameter_words(*kernel, plan, grid, supplied));
  for (const codegen::BufferBinding& binding : kernel->kernel.buffers) {
    step.buffers.push_back(buffers[binding.buffer]);
  }
  step.kernel = std::move(kernel);
  step.grid = grid;
  return step;
}

Result<void> check_gate(const IndirectGate& gate, const Device& device) {
  std::array<std::uint32_t, GateWords::kCount> words{};
  FELSITE_CHECK(gate.words->read(0, std::as_writable_bytes(std::span(words))));
  if (words[GateWords::kIsStopped] == 0) return {};
  const auto asked = std::span(words).subspan<GateWords::kAsked, 3>();
  Error error = over_limit(
      fmt::format("The program's IndirectDispatch reads a grid of {} x {} x {} workgroups, which "
                  "is more than the device takes.",
                  asked[0], asked[1], asked[2]),
      "compute a smaller grid, or give the grid with the dispatch: it is then split.",
      device.snapshot().name, std::ranges::max(asked), device.snapshot().limits.workgroup_count[0]);
  error.context.step = gate.caller_step;
  return std::unexpected(std::move(error));
}

Result<void> bind_step(Pipelines& pipelines, Memory& memory, const StepRequest& request,
                       std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates) {
  const bool indirect = !request.grid;
  const Extent3 grid = request.grid.value_or(Extent3{1, 1, 1});
  const bool in_parts = !fits_one_dispatch(grid, memory.device().snapshot().limits.workgroup_count);
  Result<SharedKernel> kernel = request.kernel;
  if (*kernel == nullptr) kernel = pipelines.get(request.program, in_parts);
  if (!kernel) return std::unexpected(std::move(kernel.error()));
  if (indirect) {
    FELSITE_CHECK(bind_gate(pipelines, memory, request, steps, gates));
  }
  FELSITE_TRY(auto step, make_kernel_step(std::move(*kernel), request.plan, request.buffers, grid));
  step.name = request.name;
  step.caller_step = request.caller_step;
  if (indirect) step.indirect = BufferSlice{gates.back().words, 0, 12};
  steps.push_back(std::move(step));
  return {};
}

}  // namespace felsite::vk
