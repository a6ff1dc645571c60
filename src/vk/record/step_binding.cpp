#include "vk/record/step_binding.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "felsite/text.h"
#include "vk/instance/vulkan_error.h"
#include "vk/record/sequence_layout.h"

namespace felsite::vk {
namespace {

using codegen::Parameter;
using codegen::ParameterKind;
using Grid = std::array<std::uint32_t, 3>;

constexpr std::uint64_t kGateWords = 7;

// Reads past the end give zero, as IndirectDispatch wants it.
std::string gate_text(std::uint32_t first_word, const Grid& most) {
  return fmt::format(
      "program felsite_indirect_gate workgroup(1) {{ readonly words: u32[]; output gate: u32[{}];"
      " let x = words[{}]; let y = words[{}]; let z = words[{}];"
      " gate[4] = x; gate[5] = y; gate[6] = z;"
      " let fits = x <= {} && y <= {} && z <= {};"
      " if fits {{ gate[0] = x; gate[1] = y; gate[2] = z; gate[3] = 0; }}"
      " else {{ gate[0] = 0; gate[1] = 0; gate[2] = 0; gate[3] = 1; }} }}",
      kGateWords, first_word, first_word + 1, first_word + 2, most[0], most[1], most[2]);
}

// Ids have 32 bits, whatever the device would run.
Grid most_workgroups(const Device& device, const Grid& workgroup_size) {
  Grid most = device.snapshot().limits.workgroup_count;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint64_t by_ids = (std::uint64_t{1} << 32) / workgroup_size[axis];
    most[axis] = static_cast<std::uint32_t>(std::min<std::uint64_t>(most[axis], by_ids));
  }
  return most;
}

Result<KernelStep> bind_kernel(SharedKernel kernel, const StepRequest& request, const Grid& grid) {
  FELSITE_TRY(auto parameters, parameter_words(*kernel, request.plan, grid, {}));
  KernelStep step{.kernel = std::move(kernel),
                  .buffers = {},
                  .grid = grid,
                  .indirect = {},
                  .parameters = std::move(parameters),
                  .name = request.name,
                  .caller_step = request.caller_step};
  for (const codegen::BufferBinding& binding : step.kernel->kernel.buffers) {
    step.buffers.push_back(request.buffers[binding.buffer]);
  }
  return step;
}

Result<void> bind_gate(Pipelines& pipelines, Memory& memory, const StepRequest& request,
                       std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates) {
  const ir::Node& node = request.program.node(request.program.entry().begin);
  const Grid most = most_workgroups(memory.device(), request.program.workgroup_size());
  const auto program = ir::parse(gate_text(node.extra, most));
  if (!program) return std::unexpected(ir::to_error(program.error(), "felsite_indirect_gate"));
  FELSITE_TRY(auto kernel, pipelines.get(*program));
  FELSITE_TRY(auto words, memory.make(Place::Control, kGateWords * 4, {request.name, "gate"}));
  // A step that never runs has stopped nothing.
  FELSITE_CHECK(words->write(0, Bytes(kGateWords * 4)));

  const BufferSlice& source = request.buffers[node.ref];
  const std::array<BufferSlice, 2> buffers{source, BufferSlice{words, 0, kGateWords * 4}};
  dispatch::BindingPlan plan;
  plan.buffers.resize(2);
  plan.buffers[0].count = source.bytes / 4;
  plan.buffers[1].count = kGateWords;
  FELSITE_TRY(auto step, bind_kernel(std::move(kernel),
                                     {.program = *program,
                                      .plan = plan,
                                      .buffers = buffers,
                                      .grid = Grid{1, 1, 1},
                                      .name = request.name + " gate",
                                      .caller_step = request.caller_step},
                                     {1, 1, 1}));
  step.caller_step.reset();
  steps.push_back(std::move(step));
  gates.push_back({std::move(words), request.caller_step});
  return {};
}

}  // namespace

Result<std::vector<std::uint32_t>> parameter_words(const KernelOnDevice& on,
                                                   const dispatch::BindingPlan& plan,
                                                   const Grid& grid,
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

Result<void> check_gate(const IndirectGate& gate, const Device& device) {
  std::array<std::uint32_t, kGateWords> words{};
  FELSITE_CHECK(gate.words->read(0, std::as_writable_bytes(std::span(words))));
  if (words[3] == 0) return {};
  Error error = over_limit(
      fmt::format("The program's IndirectDispatch reads a grid of {} x {} x {} workgroups, which "
                  "is more than the device takes.",
                  words[4], words[5], words[6]),
      "compute a smaller grid, or give the grid with the dispatch: it is then split.",
      device.snapshot().name, std::max({words[4], words[5], words[6]}),
      device.snapshot().limits.workgroup_count[0]);
  error.context.step = gate.caller_step;
  return std::unexpected(std::move(error));
}

Result<void> bind_step(Pipelines& pipelines, Memory& memory, const StepRequest& request,
                       std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates) {
  const bool indirect = !request.grid;
  const Grid grid = request.grid.value_or(Grid{1, 1, 1});
  const bool in_parts = !fits_one_dispatch(grid, memory.device().snapshot().limits.workgroup_count);
  Result<SharedKernel> kernel = request.kernel;
  if (*kernel == nullptr) kernel = pipelines.get(request.program, in_parts);
  if (!kernel) return std::unexpected(std::move(kernel.error()));
  if (indirect) {
    FELSITE_CHECK(bind_gate(pipelines, memory, request, steps, gates));
  }
  FELSITE_TRY(auto step, bind_kernel(std::move(*kernel), request, grid));
  if (indirect) step.indirect = BufferSlice{gates.back().words, 0, 12};
  steps.push_back(std::move(step));
  return {};
}

}  // namespace felsite::vk
