#include "arithmetic/fold.h"

#include <array>

#include "arithmetic/kernels.h"

namespace felsite::arithmetic {

using namespace ir;

std::optional<Literal> fold(const Program& program, ExprId id, std::span<const Literal> operands) {
  const Expr& expr = program.expr(id);
  if (expr.kind == ExprKind::Literal) return Literal{expr.type, expr.literal_bits()};
  if (operands.empty() || operands.size() > 3) return std::nullopt;
  // A lane of each operand, in register form.
  std::array<std::uint64_t, 3> lanes{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    lane_from_bits(operands[i].type, operands[i].bits, &lanes[i]);
  }
  const Type type = operands[0].type;
  std::uint64_t result = 0;
  switch (expr.kind) {
    case ExprKind::Binary: {
      const BinaryKernel kernel = binary_kernel(expr.binary(), type);
      if (kernel == nullptr || operands[1].type != type) return std::nullopt;
      kernel(&result, &lanes[0], &lanes[1], 1);
      break;
    }
    case ExprKind::Unary: {
      const UnaryKernel kernel = unary_kernel(expr.unary(), type);
      if (kernel == nullptr) return std::nullopt;
      kernel(&result, &lanes[0], 1);
      break;
    }
    case ExprKind::Select:
      if (type != Type::Bool || operands[1].type != operands[2].type) return std::nullopt;
      return operands[0].bits != 0 ? operands[1] : operands[2];
    case ExprKind::Cast:
    case ExprKind::Bitcast: {
      const UnaryKernel kernel = expr.kind == ExprKind::Cast ? cast_kernel(type, expr.type)
                                                             : bitcast_kernel(type, expr.type);
      if (kernel == nullptr) return std::nullopt;
      kernel(&result, &lanes[0], 1);
      break;
    }
    case ExprKind::Fma: {
      const TernaryKernel kernel = fma_kernel(type);
      if (kernel == nullptr || operands[1].type != type || operands[2].type != type) {
        return std::nullopt;
      }
      kernel(&result, &lanes[0], &lanes[1], &lanes[2], 1);
      break;
    }
    case ExprKind::Literal:
    case ExprKind::Var:
    case ExprKind::Load:
    case ExprKind::BufLen:
    case ExprKind::InvocationId:
    case ExprKind::WorkgroupId:
    case ExprKind::LocalId:
    case ExprKind::NumWorkgroups:
    case ExprKind::WorkgroupSize:
    case ExprKind::SubgroupLocalId:
    case ExprKind::SubgroupSize:
    case ExprKind::Atomic:
    case ExprKind::SubgroupBallot:
    case ExprKind::SubgroupShuffle:
    case ExprKind::SubgroupReduce:
    case ExprKind::Call:
      return std::nullopt;
  }
  if (expr.type == Type::None) return std::nullopt;
  return Literal{expr.type, bits_from_lane(expr.type, &result)};
}

}  // namespace felsite::arithmetic
