#include <span>

#include "arithmetic/arithmetic.h"
#include "arithmetic/kernel_table.h"
#include "arithmetic/kernels.h"
#include "ir/op_tables.h"

namespace felsite::arithmetic {
namespace {

// The functions have vectorised forms over arrays: the same algorithms, several lanes at a time.
template <UnaryOp op>
constexpr auto array_function() -> void (*)(std::span<const float>, std::span<float>) {
#define FELSITE_CHOOSE_FUNCTION(Name, name) \
  if constexpr (op == UnaryOp::Name) return &exact_##name;
  FELSITE_EACH_FUNCTION(FELSITE_CHOOSE_FUNCTION)
#undef FELSITE_CHOOSE_FUNCTION
  return nullptr;
}

template <UnaryOp op, Type type>
void run_function(void* result, const void* a, std::size_t lanes) {
  constexpr auto function = array_function<op>();
  static_assert(function != nullptr, "a function without a row in FELSITE_EACH_FUNCTION");
  const std::span out(static_cast<float*>(result), lanes);
  function(std::span(static_cast<const float*>(a), lanes), out);
  if constexpr (type != Type::F32) {
    for (float& value : out) value = round_to_type<type>(value);
  }
}

template <UnaryOp op, Type type>
void run_unary(void* result, const void* a, std::size_t lanes) {
  using Out = decltype(evaluate<op, type>(Lane<type>{}));
  auto* out = static_cast<Out*>(result);
  const auto* x = static_cast<const Lane<type>*>(a);
  for (std::size_t i = 0; i < lanes; ++i) out[i] = evaluate<op, type>(x[i]);
}

using UnaryRow = std::array<UnaryKernel, kTypes>;

template <UnaryOp op>
constexpr UnaryRow make_unary_row() {
  return by_type<UnaryKernel>([]<Type type>() -> UnaryKernel {
    constexpr ir::UnaryOpInfo info = ir::kUnaryOps[static_cast<std::size_t>(op)];
    if constexpr (!info.rule.operands.has(type)) {
      return nullptr;
    } else if constexpr (info.is_function) {
      return &run_function<op, type>;
    } else {
      return &run_unary<op, type>;
    }
  });
}

constexpr auto kUnaryTable = []<std::size_t... index>(std::index_sequence<index...>) {
  return std::array{make_unary_row<static_cast<UnaryOp>(index)>()...};
}
(std::make_index_sequence<ir::kUnaryOpCount>());

template <Type type>
void run_fma(void* result, const void* a, const void* b, const void* c, std::size_t lanes) {
  auto* out = static_cast<Lane<type>*>(result);
  const auto* x = static_cast<const Lane<type>*>(a);
  const auto* y = static_cast<const Lane<type>*>(b);
  const auto* z = static_cast<const Lane<type>*>(c);
  for (std::size_t i = 0; i < lanes; ++i) out[i] = evaluate_fma<type>(x[i], y[i], z[i]);
}

template <class Word>
void run_select(void* result, const void* condition, const void* a, const void* b,
                std::size_t lanes) {
  auto* out = static_cast<Word*>(result);
  const auto* take = static_cast<const std::uint32_t*>(condition);
  const auto* x = static_cast<const Word*>(a);
  const auto* y = static_cast<const Word*>(b);
  for (std::size_t i = 0; i < lanes; ++i) out[i] = take[i] != 0 ? x[i] : y[i];
}

}  // namespace

UnaryKernel unary_kernel(UnaryOp op, Type type) {
  if (type == Type::None) return nullptr;
  return kUnaryTable[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

TernaryKernel fma_kernel(Type type) {
  static constexpr auto table = by_type<TernaryKernel>([]<Type t>() -> TernaryKernel {
    if constexpr (kIsFloat<t>) return &run_fma<t>;
    return nullptr;
  });
  return type == Type::None ? nullptr : table[static_cast<std::size_t>(type)];
}

TernaryKernel select_kernel(Type type) {
  return lane_bytes(type) == 8 ? &run_select<std::uint64_t> : &run_select<std::uint32_t>;
}

}  // namespace felsite::arithmetic
