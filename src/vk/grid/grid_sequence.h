// From a program with grid barriers, or a fixpoint, to the steps that run it on buffers that stay
// on the device.
#pragma once

#include "dispatch/schedule/routing.h"
#include "vk/record/engine.h"

namespace felsite::vk {

struct GridRequest {
  const ir::ValidProgram& program;  // with the workgroup size that runs
  const DispatchConfig& config;
  const dispatch::BindingPlan& bindings;
  Extent3 grid{};
  std::span<const BufferSlice> buffers;  // by BufferId
  dispatch::Route route = dispatch::Route::Resident;
  bool fresh_outputs = false;  // they are zeroed before the run
  std::string name;
};

// Appends fills, steps, conditions and control words to the sequence, and sets
// Sequence::iterations, which says where the outcome is read.
Result<void> add_grid_steps(Engine& engine, const GridRequest& request, Sequence& sequence);

// Compiles the kernel of a grid that is one workgroup, ahead of the first dispatch. Does not use
// bindings and buffers.
Result<void> prepare_one_workgroup(Engine& engine, const GridRequest& request);

// After a run: how many iterations there were, and whether the last one changed nothing.
struct IterationsRun {
  std::uint32_t iterations = 0;
  bool converged = false;
};
// Adds them and the launches to the telemetry.
Result<IterationsRun> iterations_of(const Recording& recording);

// Sums the times of recorded steps, several of which may run one segment, by segment.
std::vector<std::uint64_t> segment_times(const Sequence& sequence,
                                         std::span<const std::uint64_t> step_ns);

}  // namespace felsite::vk
