#include "felsite/ops.h"

#include <algorithm>

namespace felsite::ir {
namespace {

constexpr TypeRule kNumeric{kNumericTypes, ResultRule::Operand};
constexpr TypeRule kInteger{kIntegerTypes, ResultRule::Operand};
constexpr TypeRule kFloat{kFloatTypes, ResultRule::Operand};
constexpr TypeRule kFunction{kFunctionTypes, ResultRule::Operand};
constexpr TypeRule kSignedOrFloat{kSignedTypes | kFloatTypes, ResultRule::Operand};
constexpr TypeRule kEquality{kNumericTypes | Type::Bool, ResultRule::Bool};
constexpr TypeRule kOrder{kNumericTypes, ResultRule::Bool};
constexpr TypeRule kLogic{Type::Bool, ResultRule::Bool};
constexpr TypeRule kBitCount{kIntegerTypes, ResultRule::U32};
constexpr TypeRule kFloatTest{kFloatTypes, ResultRule::Bool};
constexpr TypeRule kWord{Type::U32, ResultRule::Operand};

// Precedence of the infix forms, loosest first: || && == < | ^ & << + *.
constexpr std::array<BinaryOpInfo, kBinaryOpCount> kBinaryOps{{
    {BinaryOp::Add, "add", "+", 9, kNumeric},
    {BinaryOp::Sub, "sub", "-", 9, kNumeric},
    {BinaryOp::Mul, "mul", "*", 10, kNumeric},
    {BinaryOp::Div, "div", "/", 10, kNumeric},
    {BinaryOp::Mod, "mod", "%", 10, kInteger},
    {BinaryOp::MulHigh, "mul_high", "", 0, kInteger},
    {BinaryOp::BitAnd, "bit_and", "&", 7, kInteger},
    {BinaryOp::BitOr, "bit_or", "|", 5, kInteger},
    {BinaryOp::BitXor, "bit_xor", "^", 6, kInteger},
    {BinaryOp::Shl, "shl", "<<", 8, kInteger},
    {BinaryOp::Shr, "shr", ">>", 8, kInteger},
    {BinaryOp::RotateLeft, "rotate_left", "", 0, kInteger},
    {BinaryOp::RotateRight, "rotate_right", "", 0, kInteger},
    {BinaryOp::Eq, "eq", "==", 3, kEquality},
    {BinaryOp::Ne, "ne", "!=", 3, kEquality},
    {BinaryOp::Lt, "lt", "<", 4, kOrder},
    {BinaryOp::Gt, "gt", ">", 4, kOrder},
    {BinaryOp::Le, "le", "<=", 4, kOrder},
    {BinaryOp::Ge, "ge", ">=", 4, kOrder},
    {BinaryOp::And, "and", "&&", 2, kLogic},
    {BinaryOp::Or, "or", "||", 1, kLogic},
    {BinaryOp::Min, "min", "", 0, kNumeric},
    {BinaryOp::Max, "max", "", 0, kNumeric},
    {BinaryOp::AbsDiff, "abs_diff", "", 0, {kIntegerTypes, ResultRule::Unsigned}},
    {BinaryOp::SaturatingAdd, "saturating_add", "", 0, kInteger},
    {BinaryOp::SaturatingSub, "saturating_sub", "", 0, kInteger},
    {BinaryOp::SaturatingMul, "saturating_mul", "", 0, kInteger},
    {BinaryOp::WrappingAdd, "wrapping_add", "", 0, kInteger},
    {BinaryOp::WrappingSub, "wrapping_sub", "", 0, kInteger},
}};

constexpr std::array<UnaryOpInfo, kUnaryOpCount> kUnaryOps{{
    {UnaryOp::Negate, "negate", "-", kNumeric},
    {UnaryOp::BitNot, "bit_not", "~", kInteger},
    {UnaryOp::LogicalNot, "not", "!", kLogic},
    {UnaryOp::Popcount, "popcount", "", kBitCount},
    {UnaryOp::Clz, "clz", "", kBitCount},
    {UnaryOp::Ctz, "ctz", "", kBitCount},
    {UnaryOp::ReverseBits, "reverse_bits", "", kInteger},
    {UnaryOp::Abs, "abs", "", kSignedOrFloat},
    {UnaryOp::Sign, "sign", "", kSignedOrFloat},
    {UnaryOp::Floor, "floor", "", kFloat},
    {UnaryOp::Ceil, "ceil", "", kFloat},
    {UnaryOp::Round, "round", "", kFloat},
    {UnaryOp::Trunc, "trunc", "", kFloat},
    {UnaryOp::Sqrt, "sqrt", "", kFloat},
    {UnaryOp::InverseSqrt, "inverse_sqrt", "", kFloat},
    {UnaryOp::Reciprocal, "reciprocal", "", kFloat},
    {UnaryOp::Sin, "sin", "", kFunction},
    {UnaryOp::Cos, "cos", "", kFunction},
    {UnaryOp::Tan, "tan", "", kFunction},
    {UnaryOp::Asin, "asin", "", kFunction},
    {UnaryOp::Acos, "acos", "", kFunction},
    {UnaryOp::Atan, "atan", "", kFunction},
    {UnaryOp::Sinh, "sinh", "", kFunction},
    {UnaryOp::Cosh, "cosh", "", kFunction},
    {UnaryOp::Tanh, "tanh", "", kFunction},
    {UnaryOp::Exp, "exp", "", kFunction},
    {UnaryOp::Exp2, "exp2", "", kFunction},
    {UnaryOp::Log, "log", "", kFunction},
    {UnaryOp::Log2, "log2", "", kFunction},
    {UnaryOp::IsNan, "is_nan", "", kFloatTest},
    {UnaryOp::IsInf, "is_inf", "", kFloatTest},
    {UnaryOp::IsFinite, "is_finite", "", kFloatTest},
    {UnaryOp::Unpack4Low, "unpack4_low", "", kWord},
    {UnaryOp::Unpack4High, "unpack4_high", "", kWord},
    {UnaryOp::Unpack8Low, "unpack8_low", "", kWord},
    {UnaryOp::Unpack8High, "unpack8_high", "", kWord},
}};

constexpr std::array<AtomicOpInfo, kAtomicOpCount> kAtomicOps{{
    {AtomicOp::Add, "atomic_add", kIntegerTypes | Type::F32},
    {AtomicOp::Sub, "atomic_sub", kIntegerTypes},
    {AtomicOp::Or, "atomic_or", kIntegerTypes},
    {AtomicOp::And, "atomic_and", kIntegerTypes},
    {AtomicOp::Xor, "atomic_xor", kIntegerTypes},
    {AtomicOp::Min, "atomic_min", kIntegerTypes},
    {AtomicOp::Max, "atomic_max", kIntegerTypes},
    {AtomicOp::Exchange, "atomic_exchange", kIntegerTypes},
    {AtomicOp::CompareExchange, "atomic_compare_exchange", kIntegerTypes},
}};

constexpr std::array<ReduceOpInfo, kReduceOpCount> kReduceOps{{
    {ReduceOp::Add, "add", kNumericTypes},
    {ReduceOp::Mul, "mul", kNumericTypes},
    {ReduceOp::Min, "min", kNumericTypes},
    {ReduceOp::Max, "max", kNumericTypes},
    {ReduceOp::And, "and", kIntegerTypes | Type::Bool},
    {ReduceOp::Or, "or", kIntegerTypes | Type::Bool},
    {ReduceOp::Xor, "xor", kIntegerTypes | Type::Bool},
}};

constexpr std::array<OrderingInfo, kOrderingCount> kOrderings{{
    {Ordering::Relaxed, "relaxed", true, false},
    {Ordering::Acquire, "acquire", true, true},
    {Ordering::Release, "release", true, true},
    {Ordering::AcqRel, "acq_rel", true, true},
    {Ordering::SeqCst, "seq_cst", true, true},
    {Ordering::GridSync, "gridsync", false, true},
}};

// Each row must stand at its enumerator's index, since info() looks it up by that index.
template <class Table, class Key>
constexpr bool in_order(const Table& table, Key key) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table[i].*key) != i) return false;
  }
  return true;
}
static_assert(in_order(kTypes, &TypeInfo::type));
static_assert(in_order(kBinaryOps, &BinaryOpInfo::op));
static_assert(in_order(kUnaryOps, &UnaryOpInfo::op));
static_assert(in_order(kAtomicOps, &AtomicOpInfo::op));
static_assert(in_order(kReduceOps, &ReduceOpInfo::op));
static_assert(in_order(kOrderings, &OrderingInfo::ordering));

template <class Table, class Member>
auto find_named(const Table& table, std::string_view name, Member member)
    -> std::optional<std::remove_cvref_t<decltype(table[0].*member)>> {
  const auto row = std::ranges::find(table, name, [](const auto& r) { return r.name; });
  if (row == table.end()) return std::nullopt;
  return (*row).*member;
}

}  // namespace

const BinaryOpInfo& info(BinaryOp op) { return kBinaryOps[static_cast<std::size_t>(op)]; }
const UnaryOpInfo& info(UnaryOp op) { return kUnaryOps[static_cast<std::size_t>(op)]; }
const AtomicOpInfo& info(AtomicOp op) { return kAtomicOps[static_cast<std::size_t>(op)]; }
const ReduceOpInfo& info(ReduceOp op) { return kReduceOps[static_cast<std::size_t>(op)]; }
const OrderingInfo& info(Ordering o) { return kOrderings[static_cast<std::size_t>(o)]; }

std::optional<Type> type_named(std::string_view name) {
  const auto type = find_named(kTypes, name, &TypeInfo::type);
  return type == Type::None ? std::nullopt : type;
}
std::optional<BinaryOp> binary_op_named(std::string_view name) {
  return find_named(kBinaryOps, name, &BinaryOpInfo::op);
}
std::optional<UnaryOp> unary_op_named(std::string_view name) {
  return find_named(kUnaryOps, name, &UnaryOpInfo::op);
}
std::optional<AtomicOp> atomic_op_named(std::string_view name) {
  return find_named(kAtomicOps, name, &AtomicOpInfo::op);
}
std::optional<ReduceOp> reduce_op_named(std::string_view name) {
  return find_named(kReduceOps, name, &ReduceOpInfo::op);
}
std::optional<Ordering> ordering_named(std::string_view name) {
  return find_named(kOrderings, name, &OrderingInfo::ordering);
}

Type result_type(TypeRule rule, Type operand) {
  if (!rule.operands.has(operand)) return Type::None;
  switch (rule.result) {
    case ResultRule::Operand:
      return operand;
    case ResultRule::Bool:
      return Type::Bool;
    case ResultRule::U32:
      return Type::U32;
    case ResultRule::Unsigned:
      return info(operand).as_unsigned;
  }
  return Type::None;
}

}  // namespace felsite::ir
