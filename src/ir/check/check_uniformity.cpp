// Checks that barriers are in uniform control flow: of the workgroup, or of the grid for grid
// barriers.
#include <fmt/format.h>

#include <algorithm>

#include "felsite/text.h"
#include "ir/analysis/uniformity.h"
#include "ir/check/validation.h"
#include "ir/walk.h"

namespace felsite::ir {
namespace {

// Finds a load that makes an expression divergent because a statement may be writing what it reads.
// The load is in the expression itself or in the value of one of its variables.
class ChangingLoads {
 public:
  ChangingLoads(const Program& program, const UniformityMap& map) : program_(program), map_(map) {
    for (NodeId id = program.entry().begin; id < program.entry().end; ++id) {
      const Node& node = program.node(id);
      if (sets_variable(node) && is_resolved(node.ref)) {
        values_.emplace_back(node.ref, node.args[0]);
      }
    }
    std::ranges::sort(values_);
  }

  ExprId find(ExprId root) const {
    std::vector<ExprId> open{root};
    std::vector<bool> seen(program_.vars().size(), false);
    while (!open.empty()) {
      const ExprId tree = open.back();
      open.pop_back();
      for (const ExprId row : program_.rows(tree)) {
        const Expr& expr = program_.expr(row);
        if (expr.kind == ExprKind::Load && map_.writers[row] != kNone) return row;
        if (expr.kind != ExprKind::Var || !is_resolved(expr.ref) || seen[expr.ref]) continue;
        seen[expr.ref] = true;
        for (auto value = std::ranges::lower_bound(values_, std::pair(expr.ref, ExprId{0}));
             value != values_.end() && value->first == expr.ref; ++value) {
          open.push_back(value->second);
        }
      }
    }
    return kNone;
  }

 private:
  const Program& program_;
  const UniformityMap& map_;
  std::vector<std::pair<VarId, ExprId>> values_;  // the values that variables are set to
};

std::string text_of_write(const Program& program, NodeId id, BufferId buffer) {
  const Node& node = program.node(id);
  std::string text = "`async_wait`";
  if (node.kind == NodeKind::AsyncWait) {
    text = fmt::format("`async_wait({})`", program.name(node.name));
  } else if (node.kind == NodeKind::Store && node.ref == buffer) {
    text = fmt::format("the store to `{}[{}]`", program.buffer(buffer).name,
                       print(program, node.args[0]));
  } else {
    for (const ExprId row : program.rows_of_node(id)) {
      const Expr& expr = program.expr(row);
      if (expr.kind == ExprKind::Atomic && expr.ref == buffer) {
        text = fmt::format("`{}`", print(program, row));
      }
    }
  }
  if (program.source().empty()) return text;
  const LineColumn at = line_column(program.source(), program.source().nodes[id]);
  return fmt::format("{} in line {}", text, at.line);
}

// Why a condition is divergent, if a write is the reason; empty otherwise.
std::string reason_of(const Program& program, const UniformityMap& map, ExprId culprit) {
  const ExprId load = ChangingLoads(program, map).find(culprit);
  if (load == kNone) return {};
  return fmt::format(" No barrier separates its `{}` from {}.", print(program, load),
                     text_of_write(program, map.writers[load], program.expr(load).ref));
}

}  // namespace

void check_uniformity(const Program& program, Report& report) {
  if (!program.facts().has_barrier && !program.facts().has_grid_sync) return;
  const UniformityMap map = analyze_uniformity(program);
  for (Walk walk(program, program.entry()); walk.next();) {
    const NodeId id = walk.id();
    const Node& node = program.node(id);
    if (info(node.kind).orders != Orders::ByOrdering) continue;
    const bool grid = is_grid_sync(node);
    const Uniformity needed = grid ? Uniformity::Grid : Uniformity::Workgroup;
    if (map.control[id] <= needed) continue;
    // Names the nearest condition or bound that the invocations do not agree on.
    ExprId culprit = kNone;
    const auto around = walk.around();
    for (auto outer = around.rbegin(); outer != around.rend() && culprit == kNone; ++outer) {
      for (const ExprId root : program.expressions(*outer)) {
        if (map.exprs[root] > needed && culprit == kNone) culprit = root;
      }
    }
    const bool named = culprit != kNone && !report.full();
    report.node(
        grid ? FindingCode::DivergentGridSync : FindingCode::DivergentBarrier, id,
        fmt::format(
            "Not all invocations of the {} get here together: `{}` may differ between them.{}",
            grid ? "grid" : "workgroup", named ? print(program, culprit) : "an enclosing condition",
            named && report.wants_hint() ? reason_of(program, map, culprit) : ""),
        "move the barrier out, or make the condition the same for all of them: literals, "
        "lengths, and elements at a uniform index that nothing writes between barriers are.");
  }
}

}  // namespace felsite::ir
