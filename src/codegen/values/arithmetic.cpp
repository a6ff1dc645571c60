// The entry points of value.h: each chooses by the type of its operands.
#include "codegen/values/arithmetic.h"

#include <algorithm>

#include "codegen/values/float_bits.h"
#include "ir/op_tables.h"

namespace felsite::codegen {
namespace {

using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;

// So few of all operations that the lowerings below list them; a new one has to be added there.
constexpr std::ptrdiff_t operations_on_bools(const auto& table) {
  return std::ranges::count_if(table,
                               [](const auto& row) { return row.rule.operands.has(Type::Bool); });
}

Value lower_bool_binary(BinaryOp op, Flag a, Flag b) {
  static_assert(operations_on_bools(ir::kBinaryOps) == 4);
  if (op == BinaryOp::And) return {Type::Bool, a && b};
  if (op == BinaryOp::Or) return {Type::Bool, a || b};
  if (op == BinaryOp::Eq) return {Type::Bool, a == b};
  return {Type::Bool, a != b};
}

Value lower_bool_unary(Flag a) {
  static_assert(operations_on_bools(ir::kUnaryOps) == 1);
  return {Type::Bool, !a};
}

}  // namespace

Value value_from_parts(Emitter& e, Type type, Id low, Id high) {
  if (high != 0) return {type, wide(e.as_word(low), e.as_word(high))};
  if (type == Type::Bool) return {type, e.as_flag(low)};
  if (is_wide_integer(type)) return {type, e.as_wide(low)};
  if (type == Type::F64) return {type, e.as_double(low)};
  if (ir::is_float(type)) return {type, e.as_float(low)};
  return {type, e.as_word(low)};
}

Value value_from_vector(Emitter& e, Type type, Id id) {
  if (is_held_as_pair(e, type)) return {type, wide_from_vector(e, id)};
  return value_from_parts(e, type, id, 0);
}

Value lower_literal(Emitter& e, Type type, std::uint64_t bits) {
  const auto word = static_cast<std::uint32_t>(bits);
  switch (type) {
    case Type::Bool:
      return {type, e.flag(bits != 0)};
    case Type::U8:
    case Type::U16:
    case Type::U32:
    case Type::I32:
      return {type, e.word(word)};
    case Type::I8:
      return {type, e.word(static_cast<std::uint32_t>(static_cast<std::int8_t>(bits)))};
    case Type::I16:
      return {type, e.word(static_cast<std::uint32_t>(static_cast<std::int16_t>(bits)))};
    case Type::U64:
    case Type::I64:
      return {type, e.wide(bits)};
    case Type::F16:
    case Type::BF16:
    case Type::F32:
      return {type, e.number(static_cast<float>(ir::float_value({type, bits})))};
    case Type::F64:
      return {type, e.number(std::bit_cast<double>(bits))};
    case Type::None:
      break;
  }
  return {};
}

Value lower_binary(BinaryOp op, Value a, Value b) {
  if (a.type == Type::Bool) return lower_bool_binary(op, a.flag(), b.flag());
  return ir::is_float(a.type) ? lower_float_binary(op, a, b) : lower_integer_binary(op, a, b);
}

Value lower_unary(UnaryOp op, Value a) {
  if (a.type == Type::Bool) return lower_bool_unary(a.flag());
  return ir::is_float(a.type) ? lower_float_unary(op, a) : lower_integer_unary(op, a);
}

Value lower_select(Flag condition, Value a, Value b) {
  if (a.type == Type::Bool) return {a.type, select(condition, a.flag(), b.flag())};
  if (is_wide_integer(a.type)) return {a.type, select(condition, a.wide(), b.wide())};
  if (a.type == Type::F64) return {a.type, select(condition, a.real64(), b.real64())};
  if (ir::is_float(a.type)) return {a.type, select(condition, a.real(), b.real())};
  return {a.type, select(condition, a.word(), b.word())};
}

}  // namespace felsite::codegen
