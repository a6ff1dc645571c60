#include "dispatch/cost/host_values.h"

#include <cstring>

#include "arithmetic/fold.h"

namespace felsite::dispatch {

using ir::ExprKind;

bool is_fixed_input(const ir::Program& program, const ir::Expr& expr) {
  if (expr.kind != ExprKind::Load) return false;
  const ir::BufferDecl& buffer = program.buffer(expr.ref);
  const bool is_read_only =
      buffer.access == ir::Access::ReadOnly || buffer.access == ir::Access::Uniform;
  return is_read_only && buffer.element == ir::Type::U32 &&
         program.expr(expr.args[0]).kind == ExprKind::Literal;
}

HostValues::HostValues(const ir::Program& program, HostFacts facts, const Extent3& grid)
    : program_(program),
      facts_(std::move(facts)),
      grid_(grid),
      is_assigned_(program.vars().size()),
      variables_(program.vars().size()) {
  for (const ir::Node& node : program.nodes()) {
    if (ir::info(node.kind).variable == ir::VariableUse::Assigns) is_assigned_[node.ref] = true;
  }
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const ir::Node& node = program.node(id);
    if (node.kind == ir::NodeKind::Let) declare(node);
  }
}

std::optional<ir::Literal> HostValues::leaf(const ir::Expr& expr) const {
  if (expr.kind == ExprKind::Literal) return ir::Literal{expr.type, expr.literal_bits()};
  if (expr.kind == ExprKind::Var) return variables_[expr.ref];
  if (expr.kind == ExprKind::NumWorkgroups) return ir::literal(grid_[expr.aux]);
  if (expr.kind == ExprKind::WorkgroupSize) return ir::literal(program_.workgroup_size()[expr.aux]);
  if (facts_.in_the_middle) {
    const std::uint32_t size = program_.workgroup_size()[expr.aux % 3];
    const std::uint32_t groups = grid_[expr.aux % 3];
    if (expr.kind == ExprKind::LocalId) return ir::literal(size / 2);
    if (expr.kind == ExprKind::WorkgroupId) return ir::literal(groups / 2);
    if (expr.kind == ExprKind::InvocationId) {
      return ir::literal(static_cast<std::uint32_t>(std::uint64_t{size} * groups / 2));
    }
  }
  if (expr.kind != ExprKind::BufLen) return std::nullopt;
  const ir::BufferDecl& buffer = program_.buffer(expr.ref);
  if (buffer.access == ir::Access::Workgroup) return ir::literal(buffer.count);
  if (facts_.lengths.empty()) return std::nullopt;
  return ir::literal(static_cast<std::uint32_t>(facts_.lengths[expr.ref]));
}

std::optional<ir::Literal> HostValues::loaded(const ir::Expr& load) const {
  if (facts_.contents.empty() || !is_fixed_input(program_, load)) return std::nullopt;
  const ByteSpan bytes = facts_.contents[load.ref];
  const std::uint64_t index = program_.expr(load.args[0]).literal_bits();
  std::uint32_t word = 0;
  if (index >= bytes.size() / sizeof word) return std::nullopt;
  std::memcpy(&word, bytes.data() + index * sizeof word, sizeof word);
  return ir::literal(word);
}

std::optional<ir::Literal> HostValues::value(ir::ExprId root) const {
  std::vector<ir::Literal> values;
  for (const ir::ExprId row : program_.rows(root)) {
    const ir::Expr& expr = program_.expr(row);
    const std::size_t count = program_.operands(row).size();
    const auto operands = std::span(values).last(count);
    const auto found = expr.kind == ExprKind::Load ? loaded(expr)
                       : count == 0                ? leaf(expr)
                                                   : arithmetic::fold(program_, row, operands);
    if (!found) return std::nullopt;
    values.resize(values.size() - count);
    values.push_back(*found);
  }
  return values.back();
}

}  // namespace felsite::dispatch
