#include "codegen/plan/plan.h"
#include "ir/walk.h"

namespace felsite::codegen {
namespace {

using ir::ExprKind;
using ir::NodeId;
using ir::NodeKind;

constexpr std::uint32_t kEntryPoint = 0xFFFF'FFFFU;  // not in a region

// Marks the barriers, or only those of the grid, and every construct around one.
std::vector<bool> find_barriers(const ir::Program& program, ir::NodeRange nodes, bool of_grid) {
  std::vector<bool> holds(program.nodes().size(), false);
  for (ir::Walk walk(program, nodes); walk.next();) {
    const ir::Node& node = program.node(walk.id());
    const bool is_barrier = ir::info(node.kind).orders == ir::Orders::ByOrdering;
    if (!is_barrier || (of_grid && !ir::is_grid_sync(node))) continue;
    holds[walk.id()] = true;
    // Around a marked node, all outer ones are marked already.
    const auto around = walk.around();
    for (auto outer = around.rbegin(); outer != around.rend() && !holds[*outer]; ++outer) {
      holds[*outer] = true;
    }
  }
  return holds;
}

// Grid barriers, and the branches and loops around one.
std::vector<bool> find_cuts(const ir::Program& program, ir::NodeRange nodes) {
  std::vector<bool> cut = find_barriers(program, nodes, true);
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    const ir::NodeKindInfo& facts = ir::info(program.node(id).kind);
    if (facts.has_body && !facts.branches) cut[id] = false;
  }
  return cut;
}

// Whether an invocation can reach a barrier that another one never reaches, because it has
// returned: the barrier follows a divergent exit, or is in a loop with one. The end of a cut
// construct counts as a barrier.
bool exits_before_barrier(const ir::Program& program, ir::NodeRange nodes, const RegionPlan& plan,
                          const ir::UniformityMap& uniformity, ir::Uniformity together) {
  const std::vector<bool>& holds_barrier = plan.has_barrier;
  bool left = false;
  NodeId loop_end = nodes.begin;  // of the outermost loop with a barrier around this node
  std::vector<NodeId> cut_ends;   // of the cut constructs around this node
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    const ir::Node& node = program.node(id);
    while (!cut_ends.empty() && cut_ends.back() <= id) {
      if (left) return true;
      cut_ends.pop_back();
    }
    if (plan.cut[id] && node.kind != NodeKind::Barrier) cut_ends.push_back(node.end);
    if (node.kind == NodeKind::Loop && holds_barrier[id] && id >= loop_end) loop_end = node.end;
    if (node.kind == NodeKind::Barrier && left) return true;
    if (ir::info(node.kind).ends_invocation && uniformity.control[id] > together) {
      if (id < loop_end) return true;
      left = true;
    }
  }
  return left && !cut_ends.empty();
}

// The number of the region that each node is in.
std::vector<std::uint32_t> number_runs(const ir::Program& program, ir::NodeRange nodes,
                                       const std::vector<bool>& holds_barrier) {
  std::vector<std::uint32_t> region_of(program.nodes().size(), kEntryPoint);
  std::uint32_t region = 0;
  NodeId id = nodes.begin;
  while (id < nodes.end) {
    if (holds_barrier[id]) {
      ++region;
      ++id;  // into its body
      continue;
    }
    const NodeId end = program.node(id).end;
    for (; id < end; ++id) region_of[id] = region;
  }
  return region_of;
}

}  // namespace

RegionPlan plan_regions(const ir::Program& program, ir::NodeRange nodes,
                        const ir::UniformityMap& uniformity,
                        const std::optional<GridFolding>& folding) {
  RegionPlan plan;
  plan.has_barrier.assign(program.nodes().size(), false);
  plan.cut.assign(program.nodes().size(), false);
  plan.persistent.assign(program.vars().size(), false);
  plan.needed = folding && folding->turns > 1;
  if (program.facts().has_barrier || program.facts().has_grid_sync) {
    const ir::Uniformity together = folding ? ir::Uniformity::Grid : ir::Uniformity::Workgroup;
    plan.has_barrier = find_barriers(program, nodes, false);
    if (program.facts().has_grid_sync && program.facts().has_trap) {
      plan.cut = find_cuts(program, nodes);
    }
    plan.needed = plan.needed || exits_before_barrier(program, nodes, plan, uniformity, together);
  }
  if (!plan.needed) return plan;

  const std::vector<std::uint32_t> region_of = number_runs(program, nodes, plan.has_barrier);
  std::vector<std::uint32_t> declared_in(program.vars().size(), kEntryPoint);
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    const ir::Node& node = program.node(id);
    const auto mark = [&](ir::VarId variable) {
      if (declared_in[variable] != region_of[id]) plan.persistent[variable] = true;
    };
    for (const ir::ExprId row : program.rows_of_node(id)) {
      if (program.expr(row).kind == ExprKind::Var) mark(program.expr(row).ref);
    }
    const ir::VariableUse use = ir::info(node.kind).variable;
    if (use == ir::VariableUse::Assigns) mark(node.ref);
    if (use == ir::VariableUse::Declares) declared_in[node.ref] = region_of[id];
  }
  return plan;
}

bool is_known_to_all(const ir::Program& program, ir::ExprId root) {
  for (const ir::ExprId id : program.rows(root)) {
    const ir::DependsOn depends_on = ir::info(program.expr(id).kind).depends_on;
    const bool is_known = depends_on == ir::DependsOn::Operands ||
                          depends_on == ir::DependsOn::Grid ||
                          depends_on == ir::DependsOn::Workgroup;
    if (!is_known) return false;
  }
  return true;
}

}  // namespace felsite::codegen
