// Many iterations in one dispatch share the driver's loop budget. What an iteration takes of it is
// bounded from the program where trip counts are literals, and counted where they are not.
#include <algorithm>

#include "codegen/plan/plan.h"

namespace felsite::codegen {
namespace {

using ir::NodeId;
using ir::NodeKind;

// Each takes a word of workgroup memory and is looked at behind each iteration.
constexpr std::uint32_t kMostCounted = 64;

bool has_literal_bounds(const ir::Program& program, NodeId loop) {
  return std::ranges::all_of(program.expressions(loop), [&](ir::ExprId bound) {
    return program.expr(bound).kind == ir::ExprKind::Literal;
  });
}

// Trips of a loop in which the lanes share `count` elements, with the look that ends it.
std::uint64_t shared_trips(std::uint64_t count, std::uint64_t lanes) { return count / lanes + 2; }

}  // namespace

IterationPlan plan_iterations(const Segment& segment, const Capabilities& mask) {
  const ir::Program& program = segment.program;
  IterationPlan plan;
  plan.counted.assign(program.nodes().size(), 0);
  plan.limited = mask.loop_budget != 0;
  if (!plan.limited) return plan;
  plan.one_each = has_untold_loops(program);
  if (plan.one_each) return plan;
  for (NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const bool unknown =
        program.node(id).kind == NodeKind::Loop && !has_literal_bounds(program, id);
    if (unknown) plan.counted[id] = ++plan.counted_loops;
  }
  if (plan.counted_loops > kMostCounted) {
    plan.one_each = true;
    plan.counted_loops = 0;
  }
  return plan;
}

std::uint32_t trips_around_iteration(const Segment& segment, std::uint32_t lanes) {
  const ir::Program& program = segment.program;
  std::uint64_t trips = 2;  // of the loop of the iterations, at its end
  for (ir::BufferId id = 0; id < program.buffers().size(); ++id) {
    const ir::BufferDecl& buffer = program.buffer(id);
    // A wide element may be two words.
    if (buffer.access == ir::Access::Workgroup) trips += shared_trips(buffer.count * 2ULL, lanes);
    const bool is_changed = segment.one_workgroup->iterations->changed == id;
    if (is_changed && buffer.count > lanes) trips += shared_trips(buffer.count, lanes);
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(trips, UINT16_MAX));
}

}  // namespace felsite::codegen
