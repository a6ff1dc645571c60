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

}  // namespace

BinaryKernel binary_kernel(BinaryOp op, Type type) {
  if (type == Type::None) return nullptr;
  return kBinaryTable[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

BinaryKernel reduce_kernel(ir::ReduceOp op, Type type) {
  const ir::ReduceOpInfo& info = ir::kReduceOps[static_cast<std::size_t>(op)];
  return binary_kernel(type == Type::Bool ? info.on_bools : info.combine, type);
}

}  // namespace felsite::arithmetic
