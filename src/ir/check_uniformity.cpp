// Barriers stand in uniform control flow: of the workgroup, or for grid barriers of the grid.
#include <fmt/format.h>

#include "felsite/text.h"
#include "ir/uniformity.h"
#include "ir/validation.h"

namespace felsite::ir {

void check_uniformity(const Program& program, Report& report) {
  if (!program.facts().has_barrier && !program.facts().has_grid_sync) return;
  const UniformityMap map = analyze_uniformity(program);
  std::vector<NodeId> open;
  for (NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    while (!open.empty() && program.node(open.back()).end <= id) open.pop_back();
    const Node& node = program.node(id);
    if (info(node.kind).has_body) open.push_back(id);
    if (node.kind != NodeKind::Barrier) continue;
    const bool grid = node.ordering() == Ordering::GridSync;
    const Uniformity needed = grid ? Uniformity::Grid : Uniformity::Workgroup;
    if (map.control[id] <= needed) continue;
    // The nearest condition or bound that not all invocations agree on is the one to name.
    ExprId culprit = kNone;
    for (auto outer = open.rbegin(); outer != open.rend() && culprit == kNone; ++outer) {
      for (const ExprId root : program.expressions(*outer)) {
        if (map.exprs[root] > needed && culprit == kNone) culprit = root;
      }
    }
    report.node(
        grid ? FindingCode::DivergentGridSync : FindingCode::DivergentBarrier, id,
        fmt::format(
            "Not every invocation of the {} comes here together: `{}` may differ between them.",
            grid ? "grid" : "workgroup",
            culprit == kNone || report.full() ? "an enclosing condition" : print(program, culprit)),
        "move the barrier out, or make the condition the same for all of them: literals, "
        "lengths, and elements at a uniform index that nothing writes between barriers are.");
  }
}

}  // namespace felsite::ir
