// From a program and its buffers to the kernel steps that run it.
#pragma once

#include <span>
#include <vector>

#include "dispatch/schedule/binding_plan.h"
#include "vk/kernel/pipelines.h"
#include "vk/record/sequence.h"

namespace felsite::vk {

// The step of a kernel that runs on `grid`, with no name and no step of the caller. Plan and
// buffers are by BufferId of its program. `supplied`: the elements of Segment::parameters.
Result<KernelStep> make_kernel_step(SharedKernel kernel, const dispatch::BindingPlan& plan,
                                    std::span<const BufferSlice> buffers, const Extent3& grid,
                                    std::span<const std::uint32_t> supplied = {});

struct StepRequest {
  const ir::ValidProgram& program;  // with the workgroup size that runs
  const dispatch::BindingPlan& plan;
  std::span<const BufferSlice> buffers;  // by BufferId
  // Absent: the device reads it from the buffer that the program's IndirectDispatch names.
  std::optional<Extent3> grid;
  std::string name;
  std::uint32_t caller_step = 0;
  SharedKernel kernel{};  // if the caller has it already
};

// An error with the grid that was asked for, if the gate stopped it.
Result<void> check_gate(const IndirectGate& gate, const Device& device);

// Appends one step, or two where there is a gate.
Result<void> bind_step(Pipelines& pipelines, Memory& memory, const StepRequest& request,
                       std::vector<KernelStep>& steps, std::vector<IndirectGate>& gates);

}  // namespace felsite::vk
