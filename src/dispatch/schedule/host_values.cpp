#include "dispatch/schedule/host_values.h"

#include "arithmetic/fold.h"

namespace felsite::dispatch {

using ir::ExprKind;

HostValues::HostValues(const ir::Program& program, std::vector<std::uint64_t> lengths,
                       const Extent3& grid)
    : program_(program),
      lengths_(std::move(lengths)),
      grid_(grid),
      variables_(program.vars().size()) {
  std::vector<bool> is_assigned(variables_.size());
  for (const ir::Node& node : program.nodes()) {
    if (ir::info(node.kind).variable == ir::VariableUse::Assigns) is_assigned[node.ref] = true;
  }
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const ir::Node& node = program.node(id);
    if (node.kind == ir::NodeKind::Let && !is_assigned[node.ref]) {
      variables_[node.ref] = value(node.args[0]);
    }
  }
}

std::optional<ir::Literal> HostValues::leaf(const ir::Expr& expr) const {
  if (expr.kind == ExprKind::Literal) return ir::Literal{expr.type, expr.literal_bits()};
  if (expr.kind == ExprKind::Var) return variables_[expr.ref];
  if (expr.kind == ExprKind::NumWorkgroups) return ir::literal(grid_[expr.aux]);
  if (expr.kind == ExprKind::WorkgroupSize) return ir::literal(program_.workgroup_size()[expr.aux]);
  if (expr.kind != ExprKind::BufLen) return std::nullopt;
  const ir::BufferDecl& buffer = program_.buffer(expr.ref);
  if (buffer.access == ir::Access::Workgroup) return ir::literal(buffer.count);
  if (lengths_.empty()) return std::nullopt;
  return ir::literal(static_cast<std::uint32_t>(lengths_[expr.ref]));
}

std::optional<ir::Literal> HostValues::value(ir::ExprId root) const {
  std::vector<ir::Literal> values;
  for (const ir::ExprId row : program_.rows(root)) {
    const std::size_t count = program_.operands(row).size();
    const auto operands = std::span(values).last(count);
    const auto found =
        count == 0 ? leaf(program_.expr(row)) : arithmetic::fold(program_, row, operands);
    if (!found) return std::nullopt;
    values.resize(values.size() - count);
    values.push_back(*found);
  }
  return values.back();
}

}  // namespace felsite::dispatch
