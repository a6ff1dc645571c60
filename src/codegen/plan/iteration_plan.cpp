// Many iterations in one dispatch share the driver's loop budget. What an iteration takes of it is
// bounded from the program where trip counts are literals, and counted where they are not.
#include <algorithm>
#include <unordered_map>

#include "codegen/plan/plan.h"

namespace felsite::codegen {
namespace {

using ir::NodeId;
using ir::NodeKind;

// Each takes a word of workgroup memory, which is read after each iteration.
constexpr std::uint32_t kMaxCounted = 64;

bool has_literal_bounds(const ir::Program& program, NodeId loop) {
  return std::ranges::all_of(program.expressions(loop), [&](ir::ExprId bound) {
    return program.expr(bound).kind == ir::ExprKind::Literal;
  });
}

// Trips of a loop in which the lanes share `count` elements, with the test that ends it.
std::uint64_t shared_trips(std::uint64_t count, std::uint64_t lanes) { return count / lanes + 2; }

// Trips of the loops that the lowering adds to statements: for subgroup operations, which go lane
// by lane (subgroup_lowering.cpp), and for the elements of copies (async_copies.cpp).
std::vector<std::uint32_t> find_hidden_trips(const ir::Program& program,
                                             std::uint32_t subgroup_size) {
  std::vector<std::uint64_t> trips(program.nodes().size(), 0);
  std::unordered_map<ir::NameId, std::uint64_t> trips_of_tag;
  const ir::NodeRange nodes = program.entry();
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    const ir::Node& node = program.node(id);
    for (const ir::ExprId row : program.rows_of_node(id)) {
      const bool lanes = ir::info(program.expr(row).kind).purity == ir::Purity::ReadsLanes;
      if (lanes) trips[id] += subgroup_size + 1;
    }
    if (ir::info(node.kind).issues_copy) {
      trips[id] += node.extra + 1ULL;
      trips_of_tag[node.name] += node.extra + 1ULL;
    }
  }
  std::vector<std::uint32_t> capped(trips.size(), 0);
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    const ir::Node& node = program.node(id);
    if (node.kind == NodeKind::AsyncWait) trips[id] += trips_of_tag[node.name];
    capped[id] = static_cast<std::uint32_t>(std::min<std::uint64_t>(trips[id], kMaxTrips));
  }
  return capped;
}

}  // namespace

IterationPlan plan_iterations(const Segment& segment, const Capabilities& mask) {
  const ir::Program& program = segment.program;
  IterationPlan plan;
  plan.counted.assign(program.nodes().size(), 0);
  plan.limited = mask.loop_budget != 0;
  if (!plan.limited) return plan;
  plan.one_each = has_uncounted_loops(program);
  if (plan.one_each) return plan;
  plan.hidden_trips = find_hidden_trips(program, mask.subgroup_size);
  for (NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const bool unknown =
        program.node(id).kind == NodeKind::Loop && !has_literal_bounds(program, id);
    if (unknown) plan.counted[id] = ++plan.counted_loops;
  }
  if (plan.counted_loops > kMaxCounted) {
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
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(trips, kMaxTrips));
}

ChangeCheck choose_change_check(const Segment& segment, const MemoryUse& memory) {
  if (!segment.one_workgroup || !segment.one_workgroup->iterations) return ChangeCheck::None;
  const auto& changed = segment.one_workgroup->iterations->changed;
  if (!changed) return ChangeCheck::None;
  if (segment.program.buffer(*changed).count != 1) return ChangeCheck::Shared;
  return memory.one_subgroup ? ChangeCheck::EachLane : ChangeCheck::FirstLane;
}

}  // namespace felsite::codegen
