#include "codegen/plan.h"
#include "ir/effects.h"

namespace felsite::codegen {

MemoryUse memory_use(const ir::Program& program, ir::NodeRange nodes) {
  const ir::Effects effects = ir::effects_of(program, nodes);
  MemoryUse use;
  use.written.assign(program.buffers().size(), false);
  for (const ir::BufferId id : effects.writes) use.written[id] = true;
  for (const ir::BufferId id : effects.atomics) use.written[id] = true;
  std::vector<bool> used = use.written;
  for (const ir::BufferId id : effects.reads) used[id] = true;
  for (ir::BufferId id = 0; id < used.size(); ++id) {
    if (used[id] && program.buffer(id).access == ir::Access::Workgroup) {
      use.workgroup_buffers.push_back(id);
    }
  }
  use.invocations_communicate = program.facts().has_barrier || program.facts().has_atomics;
  use.workgroup_memory = !use.workgroup_buffers.empty();
  return use;
}

}  // namespace felsite::codegen
