// Loops on a driver that stops them in silence after so many trips of all loops together.
//
// Where every trip count is known, copies of the innermost bodies are put into one trip until the
// whole fits the budget. Where one is not, or it still does not fit, every loop is checked behind
// its end, and reports what it had left to do.
#include <algorithm>
#include <optional>

#include "codegen/plan.h"

namespace felsite::codegen {
namespace {

using ir::NodeId;
using ir::NodeKind;

constexpr std::uint64_t kMostRows = 4096;  // of an unrolled body
constexpr double kTooMany = 1e18;

struct Loop {
  NodeId node;
  double count;   // trips each time it is come to
  double around;  // how often that is
  bool innermost;
  std::uint64_t rows;  // size of the body
};

std::optional<std::uint32_t> literal(const ir::Program& program, ir::ExprId id) {
  const ir::Expr& expr = program.expr(id);
  if (expr.kind != ir::ExprKind::Literal) return std::nullopt;
  return expr.args[0];
}

std::uint64_t rows_of(const ir::Program& program, ir::NodeRange body) {
  std::uint64_t rows = body.end - body.begin;
  for (NodeId id = body.begin; id < body.end; ++id) {
    for (const ir::ExprId root : program.expressions(id)) {
      rows += root - program.first_row(root) + 1;
    }
  }
  return rows;
}

class Budget {
 public:
  Budget(const ir::Program& program, ir::NodeRange nodes, std::uint32_t trips)
      : program_(program),
        trips_(trips),
        plan_{std::vector(program.nodes().size(), 1U), false, false} {
    find_loops(nodes);
    // Loops that the lowering adds itself are few and short, but not counted here one by one.
    known_ = known_ && !has_hidden_loops();
  }

  LoopPlan plan() {
    if (known_ && total() > trips_) unroll();
    plan_.checked = !known_ || total() > trips_;
    plan_.counts_on_size = !plan_.checked;
    return std::move(plan_);
  }

 private:
  void find_loops(ir::NodeRange nodes) {
    std::vector<std::size_t> open;
    for (NodeId id = nodes.begin; id < nodes.end; ++id) {
      while (!open.empty() && program_.node(loops_[open.back()].node).end <= id) open.pop_back();
      const ir::Node& node = program_.node(id);
      if (node.kind != NodeKind::Loop) continue;
      const auto from = literal(program_, node.args[0]);
      const auto to = literal(program_, node.args[1]);
      known_ = known_ && from && to;
      const double count = from && to && *to > *from ? *to - *from : (from && to ? 0 : 1);
      double around = 1;
      if (!open.empty()) {
        Loop& outer = loops_[open.back()];
        outer.innermost = false;
        around = std::min(outer.around * outer.count, kTooMany);
      }
      const std::uint64_t rows = rows_of(program_, program_.then_body(id));
      open.push_back(loops_.size());
      loops_.push_back({id, count, around, true, rows});
    }
  }

  bool has_hidden_loops() const {
    const ir::Facts& facts = program_.facts();
    if (facts.has_async || facts.has_subgroup_ops) return true;
    // An exact sum of floats is exchanged until nobody came between.
    const auto is_float_atomic = [](const ir::Expr& expr) {
      return expr.kind == ir::ExprKind::Atomic && expr.type == ir::Type::F32;
    };
    if (facts.has_atomics && std::ranges::any_of(program_.exprs(), is_float_atomic)) return true;
    for (const ir::OpDecl& op : program_.ops()) {
      for (NodeId id = op.body.begin; id < op.body.end; ++id) {
        if (program_.node(id).kind == NodeKind::Loop) return true;
      }
    }
    return false;
  }

  double trips_of(const Loop& loop) const {
    const double copies = plan_.unrolled[loop.node];
    return loop.around * static_cast<double>(static_cast<std::uint64_t>(loop.count / copies));
  }

  double total() const {
    double sum = 0;
    for (const Loop& loop : loops_) sum += trips_of(loop);
    // Each workgroup buffer is zeroed by a loop of its own.
    for (const ir::BufferDecl& buffer : program_.buffers()) {
      if (buffer.access != ir::Access::Workgroup) continue;
      sum += static_cast<double>(buffer.count) * 2 / workgroup_invocations() + 1;
    }
    return sum;
  }

  double workgroup_invocations() const {
    double product = 1;
    for (const std::uint32_t extent : program_.workgroup_size()) product *= extent;
    return product;
  }

  // Doubling the copies of whichever innermost loop takes most trips, as long as that helps.
  void unroll() {
    while (total() > trips_) {
      Loop* most = nullptr;
      for (Loop& loop : loops_) {
        const std::uint32_t copies = plan_.unrolled[loop.node];
        const bool can =
            loop.innermost && copies * 2 <= loop.count && copies * 2 * loop.rows <= kMostRows;
        if (can && (most == nullptr || trips_of(loop) > trips_of(*most))) most = &loop;
      }
      if (most == nullptr) return;
      plan_.unrolled[most->node] *= 2;
    }
  }

  const ir::Program& program_;
  std::uint32_t trips_;
  LoopPlan plan_;
  std::vector<Loop> loops_;
  bool known_ = true;
};

}  // namespace

LoopPlan plan_loops(const ir::Program& program, ir::NodeRange nodes, const Capabilities& mask) {
  if (mask.loop_budget == 0) return {std::vector(program.nodes().size(), 1U), false, false};
  return Budget(program, nodes, mask.loop_budget).plan();
}

}  // namespace felsite::codegen
