// The operations of the IR: one table per kind, with name, text form and typing rule.
//
// To add an operation, add an enumerator here, its row in src/ir/op_tables.h, its value in
// src/arithmetic/arithmetic.h, its lowering, and a test. The switches over these enums have no
// default and the tables are checked, so the compiler names every place that was forgotten.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "felsite/types.h"

namespace felsite::ir {

enum class BinaryOp : std::uint8_t {
  Add,
  Sub,
  Mul,
  Div,
  Mod,
  MulHigh,
  BitAnd,
  BitOr,
  BitXor,
  Shl,
  Shr,
  RotateLeft,
  RotateRight,
  Eq,
  Ne,
  Lt,
  Gt,
  Le,
  Ge,
  And,
  Or,
  Min,
  Max,
  AbsDiff,
  SaturatingAdd,
  SaturatingSub,
  SaturatingMul,
  WrappingAdd,
  WrappingSub,
};
inline constexpr std::size_t kBinaryOpCount = static_cast<std::size_t>(BinaryOp::WrappingSub) + 1;

enum class UnaryOp : std::uint8_t {
  Negate,
  BitNot,
  LogicalNot,
  Popcount,
  Clz,
  Ctz,
  ReverseBits,
  Abs,
  Sign,
  Floor,
  Ceil,
  Round,
  Trunc,
  Sqrt,
  InverseSqrt,
  Reciprocal,
  Sin,
  Cos,
  Tan,
  Asin,
  Acos,
  Atan,
  Sinh,
  Cosh,
  Tanh,
  Exp,
  Exp2,
  Log,
  Log2,
  IsNan,
  IsInf,
  IsFinite,
  Unpack4Low,
  Unpack4High,
  Unpack8Low,
  Unpack8High,
};
inline constexpr std::size_t kUnaryOpCount = static_cast<std::size_t>(UnaryOp::Unpack8High) + 1;

enum class AtomicOp : std::uint8_t {
  Add,
  Sub,
  Or,
  And,
  Xor,
  Min,
  Max,
  Exchange,
  CompareExchange,
};
inline constexpr std::size_t kAtomicOpCount =
    static_cast<std::size_t>(AtomicOp::CompareExchange) + 1;

// Reductions over a subgroup, and over ranks in the collectives.
enum class ReduceOp : std::uint8_t { Add, Mul, Min, Max, And, Or, Xor };
inline constexpr std::size_t kReduceOpCount = static_cast<std::size_t>(ReduceOp::Xor) + 1;

enum class Ordering : std::uint8_t { Relaxed, Acquire, Release, AcqRel, SeqCst, GridSync };
inline constexpr std::size_t kOrderingCount = static_cast<std::size_t>(Ordering::GridSync) + 1;

// The result side of a typing rule. All operands of one operation have one type.
enum class ResultRule : std::uint8_t { Operand, Bool, U32, Unsigned };

struct TypeRule {
  TypeSet operands;
  ResultRule result;
};

enum class OpFamily : std::uint8_t { Arithmetic, Bits, Comparison, Logic };

struct BinaryOpInfo {
  BinaryOp op;
  std::string_view name;    // the function form of the text language, and the word in messages
  std::string_view infix;   // empty if the text language has only the function form
  std::uint8_t precedence;  // of the infix form, higher binds tighter
  OpFamily family;
  TypeRule rule;
};

struct UnaryOpInfo {
  UnaryOp op;
  std::string_view name;
  std::string_view prefix;  // "-", "~", "!" or empty
  bool is_function;         // its value comes from one algorithm, the same on host and device
  TypeRule rule;
};

struct AtomicOpInfo {
  AtomicOp op;
  std::string_view name;
  TypeSet elements;  // of the buffer
};

struct ReduceOpInfo {
  ReduceOp op;
  std::string_view name;
  TypeSet operands;
  BinaryOp combine;   // of two values
  BinaryOp on_bools;  // the same for bools
};

struct OrderingInfo {
  Ordering ordering;
  std::string_view name;
  bool on_atomic;
  bool on_barrier;
};

const BinaryOpInfo& info(BinaryOp op);
const UnaryOpInfo& info(UnaryOp op);
const AtomicOpInfo& info(AtomicOp op);
const ReduceOpInfo& info(ReduceOp op);
const OrderingInfo& info(Ordering ordering);

std::optional<BinaryOp> binary_op_named(std::string_view name);
std::optional<UnaryOp> unary_op_named(std::string_view name);
std::optional<AtomicOp> atomic_op_named(std::string_view name);
std::optional<ReduceOp> reduce_op_named(std::string_view name);
std::optional<Ordering> ordering_named(std::string_view name);

// The type of an operation's result for operands of type `operand`; None if the rule rejects it.
Type result_type(TypeRule rule, Type operand);

}  // namespace felsite::ir
