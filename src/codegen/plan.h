// What is decided about a segment before a word of it is written: plain data from small analyses,
// each in a file of its own. The writer follows it and decides nothing.
#pragma once

#include <vector>

#include "codegen/buffers.h"
#include "felsite/kernel.h"
#include "ir/uniformity.h"

namespace felsite::codegen {

// Which accesses stay within their buffers.
struct IndexBounds {
  std::vector<IndexBound> exprs;  // by ExprId: of loads and atomics
  std::vector<IndexBound> nodes;  // by NodeId: of stores
};
IndexBounds prove_indices(const ir::Program& program, ir::NodeRange nodes,
                          const Capabilities& mask);

// How loops keep within a driver's loop budget.
struct LoopPlan {
  std::vector<std::uint32_t> unrolled;  // by NodeId: copies of the body in one trip
  bool checked = false;                 // every loop is checked after it ended
  bool counts_on_size = false;          // how often workgroup memory is zeroed was counted
};
LoopPlan plan_loops(const ir::Program& program, ir::NodeRange nodes, const Capabilities& mask);

// How barriers are kept where every invocation reaches them, although some have returned.
struct RunPlan {
  bool needed = false;
  std::vector<bool> has_barrier;  // by NodeId: it is one, or holds one
  std::vector<bool> persistent;   // by VarId: read outside the run that declares it
};
RunPlan plan_runs(const ir::Program& program, ir::NodeRange nodes,
                  const ir::UniformityMap& uniformity);

MemoryUse memory_use(const ir::Program& program, ir::NodeRange nodes);
// Of the workgroup buffers in use, those whose zeros can be seen. Counts on the workgroup's size.
std::vector<ir::BufferId> buffers_to_zero(const ir::Program& program, ir::NodeRange nodes,
                                          const MemoryUse& use);

// How subgroup operations are done.
enum class Subgroups : std::uint8_t { Native, Emulated };

struct Plan {
  ir::NodeRange nodes;
  IndexBounds bounds;
  LoopPlan loops;
  RunPlan runs;
  MemoryUse memory;
  std::vector<ir::BufferId> zeroed;
  Subgroups subgroups = Subgroups::Native;
};

// Whether a segment declares, or is given, every variable it reads.
Result<void> check_segment(const Segment& segment);

// What the program needs and the mask has not, or what exceeds the device's limits.
Result<void> check_requirements(const Segment& segment, const Plan& plan,
                                const ir::UniformityMap& uniformity, const Capabilities& mask);

// The same for what is known only of the finished kernel.
Result<void> check_kernel_limits(const ir::Program& program, const Kernel& kernel,
                                 const DeviceLimits& limits);

// Whether every subgroup operation can be native: the features are there, and a subgroup is a run
// of consecutive invocations.
bool has_native_subgroups(const ir::Program& program, const Capabilities& mask);

}  // namespace felsite::codegen
