#include <fmt/format.h>

#include "codegen/plan.h"

namespace felsite::codegen {

// A segment has to declare what it reads, or be given it.
Result<void> check_segment(const Segment& segment) {
  if (!segment.nodes) return {};
  const ir::Program& program = segment.program;
  const ir::NodeRange nodes = *segment.nodes;
  const auto fail = [&](std::string message, std::string fix) {
    Error error{.code = ErrorCode::InvalidProgram,
                .message = std::move(message),
                .fix = std::move(fix),
                .context = {}};
    error.context.program = program.name();
    return std::unexpected(std::move(error));
  };
  if (nodes.end > program.nodes().size() || nodes.begin > nodes.end) {
    return fail("The segment's nodes are not in the program.", "give a range of its entry.");
  }
  std::vector<bool> known(program.vars().size(), false);
  for (const ir::VarId variable : segment.supplied) {
    if (variable >= known.size() || program.var(variable).type != ir::Type::U32) {
      return fail("A variable supplied to the segment is not a u32 of the program.",
                  "supply loop variables; keep others in a buffer.");
    }
    known[variable] = true;
  }
  for (ir::NodeId id = nodes.begin; id < nodes.end; ++id) {
    const ir::Node& node = program.node(id);
    for (const ir::ExprId root : program.expressions(id)) {
      for (ir::ExprId row = program.first_row(root); row <= root; ++row) {
        const ir::Expr& expr = program.expr(row);
        if (expr.kind != ir::ExprKind::Var || known[expr.ref]) continue;
        return fail(fmt::format("The segment reads `{}`, which is declared outside it.",
                                program.var_name(expr.ref)),
                    "supply the variable, or let the segment begin at its declaration.");
      }
    }
    const bool declares = node.kind == ir::NodeKind::Let || node.kind == ir::NodeKind::Loop;
    if (declares) known[node.ref] = true;
    if (node.kind == ir::NodeKind::Assign && !known[node.ref]) {
      return fail(fmt::format("The segment assigns `{}`, which is declared outside it.",
                              program.var_name(node.ref)),
                  "let the segment begin at its declaration.");
    }
  }
  return {};
}

}  // namespace felsite::codegen
