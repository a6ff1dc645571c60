// From a program and its buffers to the kernel steps that run it.
#pragma once

#include <span>
#include <vector>

#include "dispatch/schedule/binding_plan.h"
#include "vk/kernel/pipelines.h"
#include "vk/record/sequence.h"

namespace felsite::vk {

// What a kernel takes as parameters, as Kernel::parameters lists them. `supplied`: the elements of
// Segment::parameters.
Result<std::vector<std::uint32_t>> parameter_words(const KernelOnDevice& kernel,
                                                   const dispatch::BindingPlan& plan,
                                                   const std::array<std::uint32_t, 3>& grid,
                                                   std::span<const std::uint32_t> supplied);

struct StepRequest {
  const ir::ValidProgram& program;  // with the workgroup size that runs
  const dispatch::BindingPlan& plan;
  std::span<const BufferSlice> buffers;  // by BufferId
  // Absent: the device reads it from the buffer that the program's IndirectDispatch names.
  std::optional<std::array<std::uint32_t, 3>> grid;
  std::string name;
  std::uint32_t caller_step = 0;
  SharedKernel kernel{};  // if it is at hand already
};

// The grid that was asked for, if the gate stopped it.
Result<void> check_gate(const IndirectGate& gate, const Device& device);

// Appends one step, or two where there is a gate.
Result<void> bind_step(Pipelines& pipelines, Memory& memory, const StepRequest& request,
                       std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates);

}  // namespace felsite::vk
