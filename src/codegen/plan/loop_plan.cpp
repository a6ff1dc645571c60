// Loops on a driver that silently stops an invocation after a number of trips of all its loops.
//
// Where every trip count is known, copies of the innermost bodies are put into one trip until the
// whole fits the budget. Where one is not, or it still does not fit, every loop is checked behind
// its end, and reports what it had left to do.
#include <algorithm>
#include <optional>

#include "codegen/plan/plan.h"

namespace felsite::codegen {
namespace {

using ir::NodeId;
using ir::NodeKind;

constexpr std::uint64_t kMaxRows = 4096;  // of an unrolled body
constexpr double kUncountable = 1e18;

struct Loop {
  NodeId node;
  double count;   // trips per entry
  double around;  // how often it is entered
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
    rows += program.rows_of_node(id).size();
  }
  return rows;
}

class Budget {
 public:
  Budget(const ir::Program& program, ir::NodeRange nodes, const RegionPlan& regions,
         std::uint32_t turns, std::uint32_t trips, std::optional<std::uint32_t> taken)
      : program_(program),
        regions_(regions),
        turns_(turns),
        trips_(trips),
        taken_(taken.value_or(0)),
        plan_{std::vector(program.nodes().size(), 1U), false, false} {
    find_loops(nodes);
    // Loops that the lowering adds are few and short, but they are not counted here one by one.
    known_ = known_ && taken && !has_hidden_loops();
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
      double around = 1;
      if (!open.empty()) around = times_in(loops_[open.back()]);
      if (regions_.has_barrier[id]) cut_ = std::min(cut_ + around, kUncountable);
      if (node.kind != NodeKind::Loop) continue;
      const auto from = literal(program_, node.args[0]);
      const auto to = literal(program_, node.args[1]);
      known_ = known_ && from && to;
      const double count = from && to && *to > *from ? *to - *from : (from && to ? 0 : 1);
      if (!open.empty()) loops_[open.back()].innermost = false;
      const std::uint64_t rows = rows_of(program_, program_.then_body(id));
      open.push_back(loops_.size());
      loops_.push_back({id, count, around, true, rows});
    }
  }

  static double times_in(const Loop& loop) {
    return std::min(loop.around * loop.count, kUncountable);
  }

  bool has_hidden_loops() const {
    const ir::Facts& facts = program_.facts();
    return facts.has_async || facts.has_subgroup_ops || has_uncounted_loops(program_);
  }

  // The driver counts the test that ends the loop as a trip.
  double trips_of(const Loop& loop) const {
    const double copies = plan_.unrolled[loop.node];
    const auto trips = static_cast<double>(static_cast<std::uint64_t>(loop.count / copies));
    return loop.around * (trips + 1);
  }

  double total() const {
    double sum = 0;
    for (const Loop& loop : loops_) sum += trips_of(loop);
    if (turns_ > 1) sum = sum * turns_ + (cut_ * kTurnLoops + 1) * (turns_ + 1);
    sum += taken_;
    // Each workgroup buffer is zeroed by its own loop.
    for (const ir::BufferDecl& buffer : program_.buffers()) {
      if (buffer.access != ir::Access::Workgroup) continue;
      sum += static_cast<double>(buffer.count) * 2 / workgroup_invocations() + 2;
    }
    return sum;
  }

  double workgroup_invocations() const {
    double product = 1;
    for (const std::uint32_t extent : program_.workgroup_size()) product *= extent;
    return product;
  }

  // Doubles the copies of the innermost loop that makes most trips, as long as that helps.
  void unroll() {
    while (total() > trips_) {
      Loop* most = nullptr;
      for (Loop& loop : loops_) {
        const std::uint32_t copies = plan_.unrolled[loop.node];
        // A body that is cut at its barriers cannot be copied.
        const bool is_cut = regions_.needed && regions_.has_barrier[loop.node];
        const bool can = loop.innermost && !is_cut && copies * 2 <= loop.count &&
                         copies * 2 * loop.rows <= kMaxRows;
        if (can && (most == nullptr || trips_of(loop) > trips_of(*most))) most = &loop;
      }
      if (most == nullptr) return;
      plan_.unrolled[most->node] *= 2;
    }
  }

  const ir::Program& program_;
  const RegionPlan& regions_;
  std::uint32_t turns_;
  std::uint32_t trips_;
  std::uint32_t taken_;
  LoopPlan plan_;
  std::vector<Loop> loops_;
  bool known_ = true;
  double cut_ = 0;  // how often constructs with a barrier are entered
};

}  // namespace

LoopPlan plan_loops(const ir::Program& program, ir::NodeRange nodes, const RegionPlan& regions,
                    std::uint32_t turns, const Capabilities& mask,
                    std::optional<std::uint32_t> taken) {
  if (mask.loop_budget == 0) return {std::vector(program.nodes().size(), 1U), false, false};
  return Budget(program, nodes, regions, turns, mask.loop_budget, taken).plan();
}

bool has_uncounted_loops(const ir::Program& program) {
  // An exact atomic sum of floats is a loop that tries until no other invocation interferes.
  const auto is_float_atomic = [](const ir::Expr& expr) {
    return expr.kind == ir::ExprKind::Atomic && expr.type == ir::Type::F32;
  };
  if (program.facts().has_atomics && std::ranges::any_of(program.exprs(), is_float_atomic)) {
    return true;
  }
  for (const ir::OpDecl& op : program.ops()) {
    for (NodeId id = op.body.begin; id < op.body.end; ++id) {
      if (program.node(id).kind == NodeKind::Loop) return true;
    }
  }
  return false;
}

}  // namespace felsite::codegen
