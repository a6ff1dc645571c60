#include "codegen/plan/plan.h"
#include "ir/analysis/workgroup_memory.h"

namespace felsite::codegen {

MemoryUse memory_use(const Segment& segment, ir::NodeRange nodes) {
  const ir::Program& program = segment.program;
  const ir::Effects effects = ir::effects_of(program, nodes);
  MemoryUse use;
  use.written.assign(program.buffers().size(), false);
  for (const ir::BufferId id : effects.writes) use.written[id] = true;
  for (const ir::BufferId id : effects.atomics) use.written[id] = true;
  const bool in_iterations = segment.one_workgroup && segment.one_workgroup->iterations;
  if (in_iterations) {
    const IterationLoop& iterations = *segment.one_workgroup->iterations;
    use.written[iterations.control] = true;
    if (iterations.changed) use.written[*iterations.changed] = true;
  }
  use.workgroup_buffers = ir::used_workgroup_buffers(program, effects);
  use.invocations_communicate = program.facts().has_barrier || program.facts().has_grid_sync ||
                                program.facts().has_atomics || in_iterations;
  use.workgroup_memory = !use.workgroup_buffers.empty() || in_iterations;
  return use;
}

}  // namespace felsite::codegen
