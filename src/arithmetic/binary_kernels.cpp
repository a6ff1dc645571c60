#include "arithmetic/arithmetic.h"
#include "arithmetic/kernel_table.h"
#include "arithmetic/kernels.h"
#include "ir/op_tables.h"

namespace felsite::arithmetic {
namespace {

template <BinaryOp op, Type type>
void run_binary(void* result, const void* a, const void* b, std::size_t lanes) {
  using Out = decltype(evaluate<op, type>(Lane<type>{}, Lane<type>{}));
  auto* out = static_cast<Out*>(result);
  const auto* x = static_cast<const Lane<type>*>(a);
  const auto* y = static_cast<const Lane<type>*>(b);
  for (std::size_t i = 0; i < lanes; ++i) out[i] = evaluate<op, type>(x[i], y[i]);
}

using BinaryRow = std::array<BinaryKernel, kTypes>;

template <BinaryOp op>
constexpr BinaryRow make_binary_row() {
  return by_type<BinaryKernel>([]<Type type>() -> BinaryKernel {
    constexpr bool admitted = ir::kBinaryOps[static_cast<std::size_t>(op)].rule.operands.has(type);
    if constexpr (admitted) return &run_binary<op, type>;
    return nullptr;
  });
}

constexpr auto kBinaryTable = []<std::size_t... index>(std::index_sequence<index...>) {
  return std::array{make_binary_row<static_cast<BinaryOp>(index)>()...};
}
(std::make_index_sequence<ir::kBinaryOpCount>());

template <BinaryOp op>
void run_bool(void* result, const void* a, const void* b, std::size_t lanes) {
  run_binary<op, Type::U32>(result, a, b, lanes);
}

}  // namespace

BinaryKernel binary_kernel(BinaryOp op, Type type) {
  if (type == Type::None) return nullptr;
  return kBinaryTable[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

BinaryKernel reduce_kernel(ir::ReduceOp op, Type type) {
  const bool is_bool = type == Type::Bool;  // 0 or 1, so comparing bits works
  switch (op) {
    case ir::ReduceOp::Add:
      return binary_kernel(BinaryOp::Add, type);
    case ir::ReduceOp::Mul:
      return binary_kernel(BinaryOp::Mul, type);
    case ir::ReduceOp::Min:
      return binary_kernel(BinaryOp::Min, type);
    case ir::ReduceOp::Max:
      return binary_kernel(BinaryOp::Max, type);
    case ir::ReduceOp::And:
      return is_bool ? &run_bool<BinaryOp::BitAnd> : binary_kernel(BinaryOp::BitAnd, type);
    case ir::ReduceOp::Or:
      return is_bool ? &run_bool<BinaryOp::BitOr> : binary_kernel(BinaryOp::BitOr, type);
    case ir::ReduceOp::Xor:
      return is_bool ? &run_bool<BinaryOp::BitXor> : binary_kernel(BinaryOp::BitXor, type);
  }
  return nullptr;
}

}  // namespace felsite::arithmetic
