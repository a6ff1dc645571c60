// What is decided about a segment before a word of it is written: plain data from small analyses,
// each in its own file. The writer follows it.
#pragma once

#include <vector>

#include "codegen/plan/folding.h"
#include "codegen/plan/memory_use.h"
#include "felsite/kernel.h"
#include "ir/analysis/uniformity.h"

namespace felsite::codegen {

// Which accesses stay within their buffers.
struct IndexBounds {
  std::vector<IndexBound> exprs;  // by ExprId: for loads and atomics
  std::vector<IndexBound> nodes;  // by NodeId: for stores
};
IndexBounds prove_indices(const ir::Program& program, ir::NodeRange nodes,
                          const Capabilities& mask);

// How all invocations of a workgroup reach each barrier although some have returned. A region is a
// stretch of statements between two barriers.
struct RegionPlan {
  bool needed = false;
  std::vector<bool> has_barrier;  // by NodeId: it is a barrier, or contains one
  std::vector<bool> persistent;   // by VarId: read outside the region that declares it
  // By NodeId: a grid barrier, or an If or Loop around one, in a program that traps. Segments end
  // there, and a trap in an earlier one takes precedence.
  std::vector<bool> cut;
};
// A folded grid has several workgroups in the one that runs, and may have several invocations in a
// lane, which need regions even without barriers.
RegionPlan plan_regions(const ir::Program& program, ir::NodeRange nodes,
                        const ir::UniformityMap& uniformity,
                        const std::optional<GridFolding>& folding);

// How loops keep within a driver's loop budget.
struct LoopPlan {
  std::vector<std::uint32_t> unrolled;  // by NodeId: copies of the body in one trip
  bool checked = false;                 // each loop checks behind its end that it made all trips
  bool counts_on_size = false;          // the plan assumes the size of the workgroup
};
// `turns`: invocations of a lane. `taken`: the trips of the budget that other loops need, if known.
LoopPlan plan_loops(const ir::Program& program, ir::NodeRange nodes, const RegionPlan& regions,
                    std::uint32_t turns, const Capabilities& mask,
                    std::optional<std::uint32_t> taken);
// The most loops over the turns of a lane that a construct with a barrier adds: for the regions
// before and behind it, for one in each of its bodies, and for its condition or bounds.
inline constexpr std::uint32_t kTurnLoops = 5;
// Whether it has loops whose trip counts do not follow from the nodes of the entry.
bool has_uncounted_loops(const ir::Program& program);

// Whether an invocation that has returned computes the value as well as any other.
bool is_known_to_all(const ir::Program& program, ir::ExprId root);

// How the lanes find out whether an iteration changed something.
enum class ChangeCheck : std::uint8_t {
  None,       // nothing says whether it did
  EachLane,   // all read the one word themselves: the barrier before it is cleared costs nothing
  FirstLane,  // the first one reads the one word, and publishes it
  Shared,     // each reads some of the words
};

// Costs in loop trips stop here: no budget reaches it, and a product of two is a word still.
inline constexpr std::uint32_t kMaxTrips = UINT16_MAX;

// Many iterations in one dispatch, and how many of them a driver with a loop budget may run.
struct IterationPlan {
  ChangeCheck changes = ChangeCheck::None;
  bool limited = false;                // there is a budget
  bool one_each = false;               // some trip counts stay unknown: a dispatch is one iteration
  std::vector<std::uint32_t> counted;  // by NodeId: 1, 2, ... for loops whose trips are counted
  std::uint32_t counted_loops = 0;
  std::vector<std::uint32_t> hidden_trips;  // by NodeId: of loops that the lowering adds to it
  std::uint32_t trips_around = 0;           // as trips_around_iteration gives it
};
IterationPlan plan_iterations(const Segment& segment, const Capabilities& mask);
// The most loop trips around an iteration: of the loops that store zeros, and of the loop of the
// iterations itself. It leaves out those for a buffer whose length is not known.
std::uint32_t trips_around_iteration(const Segment& segment, std::uint32_t lanes);
ChangeCheck choose_change_check(const Segment& segment, const MemoryUse& memory);

MemoryUse memory_use(const Segment& segment, ir::NodeRange nodes);

// How subgroup operations are done.
enum class Subgroups : std::uint8_t { Native, Emulated };

struct Plan {
  ir::NodeRange nodes;
  std::optional<GridFolding> folding;
  std::uint32_t lanes = 1;  // of the workgroup that runs
  std::uint32_t turns = 1;  // invocations of a lane
  IndexBounds bounds;
  LoopPlan loops;
  IterationPlan iterations;
  RegionPlan regions;
  MemoryUse memory;
  std::vector<ir::BufferId> zeroed;
  Subgroups subgroups = Subgroups::Native;
};

// Checks what the segment says beside its program.
Result<void> check_segment(const Segment& segment);

// Refuses what the program needs and the mask lacks, and what exceeds the device's limits.
Result<void> check_requirements(const Segment& segment, const Plan& plan,
                                const ir::UniformityMap& uniformity, const Capabilities& mask);

// The same for limits that only the finished kernel shows.
Result<void> check_kernel_limits(const ir::Program& program, const Kernel& kernel,
                                 const DeviceLimits& limits);

// Whether every subgroup operation can be native: the device has the features, and its subgroups
// are consecutive invocations.
bool has_native_subgroups(const ir::Program& program, const Capabilities& mask);

}  // namespace felsite::codegen
