#include "codegen/plan/plan.h"

namespace felsite::codegen {
namespace {

using ir::ExprKind;
using ir::NodeId;
using ir::NodeKind;

constexpr std::uint32_t kEntryPoint = 0xFFFF'FFFFU;  // not in a run

bool ends_invocation(NodeKind kind) { return kind == NodeKind::Return || kind == NodeKind::Trap; }

// Marks the barriers, or only those of the grid, and every construct around one.
std::vector<bool> find_barriers(const ir::Program& program, ir::NodeRange nodes, bool of_grid) {
  std::vector<bool> holds(program.nodes().size(), false);
  std::vector<NodeId> open;
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    while (!open.empty() && program.node(open.back()).end <= id) open.pop_back();
    const ir::Node& node = program.node(id);
    const bool counts =
        node.kind == NodeKind::Barrier && (!of_grid || node.ordering() == ir::Ordering::GridSync);
    if (counts) {
      holds[id] = true;
      // Around a marked node, all outer ones are marked already.
      for (auto outer = open.rbegin(); outer != open.rend() && !holds[*outer]; ++outer) {
        holds[*outer] = true;
      }
    }
    if (ir::info(node.kind).has_body) open.push_back(id);
  }
  return holds;
}

// Grid barriers, and the branches and loops around one.
std::vector<bool> find_cuts(const ir::Program& program, ir::NodeRange nodes) {
  std::vector<bool> cut = find_barriers(program, nodes, true);
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    const NodeKind kind = program.node(id).kind;
    if (kind == NodeKind::Block || kind == NodeKind::Region) cut[id] = false;
  }
  return cut;
}

// Whether an invocation can reach a barrier that another one never reaches, because it has
// returned: the barrier follows a divergent exit, or is in a loop with one. The end of a cut
// construct counts as a barrier.
bool exits_before_barrier(const ir::Program& program, ir::NodeRange nodes, const RunPlan& plan,
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
    if (ends_invocation(node.kind) && uniformity.control[id] > together) {
      if (id < loop_end) return true;
      left = true;
    }
  }
  return left && !cut_ends.empty();
}

// The number of the run that each node is in.
std::vector<std::uint32_t> number_runs(const ir::Program& program, ir::NodeRange nodes,
                                       const std::vector<bool>& holds_barrier) {
  std::vector<std::uint32_t> run_of(program.nodes().size(), kEntryPoint);
  std::uint32_t run = 0;
  NodeId id = nodes.begin;
  while (id < nodes.end) {
    if (holds_barrier[id]) {
      ++run;
      ++id;  // into its body
      continue;
    }
    const NodeId end = program.node(id).end;
    for (; id < end; ++id) run_of[id] = run;
  }
  return run_of;
}

}  // namespace

RunPlan plan_runs(const ir::Program& program, ir::NodeRange nodes,
                  const ir::UniformityMap& uniformity, const std::optional<GridFolding>& folding) {
  RunPlan plan;
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

  const std::vector<std::uint32_t> run_of = number_runs(program, nodes, plan.has_barrier);
  std::vector<std::uint32_t> declared_in(program.vars().size(), kEntryPoint);
  for (NodeId id = nodes.begin; id < nodes.end; ++id) {
    const ir::Node& node = program.node(id);
    const auto mark = [&](ir::VarId variable) {
      if (declared_in[variable] != run_of[id]) plan.persistent[variable] = true;
    };
    for (const ir::ExprId root : program.expressions(id)) {
      for (ir::ExprId row = program.first_row(root); row <= root; ++row) {
        if (program.expr(row).kind == ExprKind::Var) mark(program.expr(row).ref);
      }
    }
    if (node.kind == NodeKind::Assign) mark(node.ref);
    if (node.kind == NodeKind::Let || node.kind == NodeKind::Loop) {
      declared_in[node.ref] = run_of[id];
    }
  }
  return plan;
}

bool is_known_to_all(const ir::Program& program, ir::ExprId root) {
  for (ir::ExprId id = program.first_row(root); id <= root; ++id) {
    switch (program.expr(id).kind) {
      case ExprKind::Literal:
      case ExprKind::BufLen:
      case ExprKind::WorkgroupId:
      case ExprKind::NumWorkgroups:
      case ExprKind::WorkgroupSize:
      case ExprKind::Binary:
      case ExprKind::Unary:
      case ExprKind::Select:
      case ExprKind::Cast:
        break;
      case ExprKind::Var:
      case ExprKind::Load:
      case ExprKind::InvocationId:
      case ExprKind::LocalId:
      case ExprKind::SubgroupLocalId:
      case ExprKind::SubgroupSize:
      case ExprKind::Bitcast:
      case ExprKind::Fma:
      case ExprKind::Atomic:
      case ExprKind::SubgroupBallot:
      case ExprKind::SubgroupShuffle:
      case ExprKind::SubgroupReduce:
      case ExprKind::Call:
        return false;
    }
  }
  return true;
}

}  // namespace felsite::codegen
