// One step of a program, for sequences that a test makes by hand.
#pragma once

#include "base/try.h"
#include "dispatch/schedule/binding_plan.h"
#include "vk/record/engine.h"
#include "vk/record/sequence_layout.h"

namespace felsite::test {

// Buffers in the order of their declarations.
inline Result<vk::KernelStep> kernel_step(vk::Engine& engine, const ir::ValidProgram& program,
                                          std::span<const vk::BufferSlice> buffers,
                                          const Extent3& grid = {1, 1, 1}) {
  std::vector<std::uint64_t> sizes;
  for (const vk::BufferSlice& buffer : buffers) sizes.push_back(buffer.bytes);
  FELSITE_TRY(const auto plan, dispatch::plan_resources(program, sizes));
  std::vector<std::uint64_t> counts;
  for (const dispatch::BoundBuffer& buffer : plan.buffers) counts.push_back(buffer.count);
  const bool in_parts =
      !dispatch::fits_one_dispatch(grid, engine.device().snapshot().limits.workgroup_count);
  FELSITE_TRY(auto kernel, engine.pipelines().get(program, in_parts));
  FELSITE_TRY(auto step, vk::make_kernel_step(std::move(kernel), counts, buffers, grid));
  for (std::size_t i = 0; i < step.buffers.size(); ++i) {
    vk::BufferSlice slice = step.buffers[i];
    slice.bytes = vk::bound_bytes(slice, step.kernel->kernel);
    step.accesses.push_back({std::move(slice), step.kernel->kernel.buffers[i].written});
  }
  step.name = program.name();
  step.caller_step = 0;
  return step;
}

}  // namespace felsite::test
