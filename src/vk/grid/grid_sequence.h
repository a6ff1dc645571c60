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
  std::array<std::uint32_t, 3> grid{};
  std::span<const BufferSlice> buffers;  // by BufferId
  dispatch::Route route = dispatch::Route::Resident;
  bool fresh_outputs = false;  // they are filled with zeros before
  std::string name;
};

// Appends fills, steps, conditions and control words to the sequence, and says in
// Sequence::iterations how to read what became of it.
Result<void> add_grid_steps(Engine& engine, const GridRequest& request, Sequence& sequence);

// Compiles the kernel of a grid that is one workgroup, ahead of the first dispatch. Bindings and
// buffers are not looked at.
Result<void> prepare_one_workgroup(Engine& engine, const GridRequest& request);

// After a run: how many iterations there were, and whether the last one changed nothing.
struct IterationsRun {
  std::uint32_t iterations = 0;
  bool converged = false;
};
// Counts them, and the launches, in the telemetry.
Result<IterationsRun> iterations_of(const Recording& recording);

// The times of the recorded steps, several of which may be of one segment, as times of the
// segments.
std::vector<std::uint64_t> segment_times(const Sequence& sequence,
                                         std::span<const std::uint64_t> step_ns);

}  // namespace felsite::vk
