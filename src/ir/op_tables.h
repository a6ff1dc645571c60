// The tables behind info(): one row for each operation. They are known at compile time, so that
// code generated for every operation and type can leave out what the typing rules reject.
#pragma once

#include "felsite/ops.h"

namespace felsite::ir {

inline constexpr TypeRule kNumericRule{kNumericTypes, ResultRule::Operand};
inline constexpr TypeRule kIntegerRule{kIntegerTypes, ResultRule::Operand};
inline constexpr TypeRule kFloatRule{kFloatTypes, ResultRule::Operand};
inline constexpr TypeRule kFunctionRule{kFunctionTypes, ResultRule::Operand};
inline constexpr TypeRule kSignedOrFloatRule{kSignedTypes | kFloatTypes, ResultRule::Operand};
inline constexpr TypeRule kEqualityRule{kNumericTypes | Type::Bool, ResultRule::Bool};
inline constexpr TypeRule kOrderRule{kNumericTypes, ResultRule::Bool};
inline constexpr TypeRule kLogicRule{Type::Bool, ResultRule::Bool};
inline constexpr TypeRule kBitCountRule{kIntegerTypes, ResultRule::U32};
inline constexpr TypeRule kFloatTestRule{kFloatTypes, ResultRule::Bool};
inline constexpr TypeRule kWordRule{Type::U32, ResultRule::Operand};

// Precedence of the infix forms, loosest first: || && == < | ^ & << + *.
inline constexpr std::array<BinaryOpInfo, kBinaryOpCount> kBinaryOps{{
    {BinaryOp::Add, "add", "+", 9, OpFamily::Arithmetic, kNumericRule},
    {BinaryOp::Sub, "sub", "-", 9, OpFamily::Arithmetic, kNumericRule},
    {BinaryOp::Mul, "mul", "*", 10, OpFamily::Arithmetic, kNumericRule},
    {BinaryOp::Div, "div", "/", 10, OpFamily::Arithmetic, kNumericRule},
    {BinaryOp::Mod, "mod", "%", 10, OpFamily::Arithmetic, kIntegerRule},
    {BinaryOp::MulHigh, "mul_high", "", 0, OpFamily::Arithmetic, kIntegerRule},
    {BinaryOp::BitAnd, "bit_and", "&", 7, OpFamily::Bits, kIntegerRule},
    {BinaryOp::BitOr, "bit_or", "|", 5, OpFamily::Bits, kIntegerRule},
    {BinaryOp::BitXor, "bit_xor", "^", 6, OpFamily::Bits, kIntegerRule},
    {BinaryOp::Shl, "shl", "<<", 8, OpFamily::Bits, kIntegerRule},
    {BinaryOp::Shr, "shr", ">>", 8, OpFamily::Bits, kIntegerRule},
    {BinaryOp::RotateLeft, "rotate_left", "", 0, OpFamily::Bits, kIntegerRule},
    {BinaryOp::RotateRight, "rotate_right", "", 0, OpFamily::Bits, kIntegerRule},
    {BinaryOp::Eq, "eq", "==", 3, OpFamily::Comparison, kEqualityRule},
    {BinaryOp::Ne, "ne", "!=", 3, OpFamily::Comparison, kEqualityRule},
    {BinaryOp::Lt, "lt", "<", 4, OpFamily::Comparison, kOrderRule},
    {BinaryOp::Gt, "gt", ">", 4, OpFamily::Comparison, kOrderRule},
    {BinaryOp::Le, "le", "<=", 4, OpFamily::Comparison, kOrderRule},
    {BinaryOp::Ge, "ge", ">=", 4, OpFamily::Comparison, kOrderRule},
    {BinaryOp::And, "and", "&&", 2, OpFamily::Logic, kLogicRule},
    {BinaryOp::Or, "or", "||", 1, OpFamily::Logic, kLogicRule},
    {BinaryOp::Min, "min", "", 0, OpFamily::Arithmetic, kNumericRule},
    {BinaryOp::Max, "max", "", 0, OpFamily::Arithmetic, kNumericRule},
    {BinaryOp::AbsDiff,
     "abs_diff",
     "",
     0,
     OpFamily::Arithmetic,
     {kIntegerTypes, ResultRule::Unsigned}},
    {BinaryOp::SaturatingAdd, "saturating_add", "", 0, OpFamily::Arithmetic, kIntegerRule},
    {BinaryOp::SaturatingSub, "saturating_sub", "", 0, OpFamily::Arithmetic, kIntegerRule},
    {BinaryOp::SaturatingMul, "saturating_mul", "", 0, OpFamily::Arithmetic, kIntegerRule},
    {BinaryOp::WrappingAdd, "wrapping_add", "", 0, OpFamily::Arithmetic, kIntegerRule},
    {BinaryOp::WrappingSub, "wrapping_sub", "", 0, OpFamily::Arithmetic, kIntegerRule},
}};

inline constexpr std::array<UnaryOpInfo, kUnaryOpCount> kUnaryOps{{
    {UnaryOp::Negate, "negate", "-", false, kNumericRule},
    {UnaryOp::BitNot, "bit_not", "~", false, kIntegerRule},
    {UnaryOp::LogicalNot, "not", "!", false, kLogicRule},
    {UnaryOp::Popcount, "popcount", "", false, kBitCountRule},
    {UnaryOp::Clz, "clz", "", false, kBitCountRule},
    {UnaryOp::Ctz, "ctz", "", false, kBitCountRule},
    {UnaryOp::ReverseBits, "reverse_bits", "", false, kIntegerRule},
    {UnaryOp::Abs, "abs", "", false, kSignedOrFloatRule},
    {UnaryOp::Sign, "sign", "", false, kSignedOrFloatRule},
    {UnaryOp::Floor, "floor", "", false, kFloatRule},
    {UnaryOp::Ceil, "ceil", "", false, kFloatRule},
    {UnaryOp::Round, "round", "", false, kFloatRule},
    {UnaryOp::Trunc, "trunc", "", false, kFloatRule},
    {UnaryOp::Sqrt, "sqrt", "", false, kFloatRule},
    {UnaryOp::InverseSqrt, "inverse_sqrt", "", false, kFloatRule},
    {UnaryOp::Reciprocal, "reciprocal", "", false, kFloatRule},
    {UnaryOp::Sin, "sin", "", true, kFunctionRule},
    {UnaryOp::Cos, "cos", "", true, kFunctionRule},
    {UnaryOp::Tan, "tan", "", true, kFunctionRule},
    {UnaryOp::Asin, "asin", "", true, kFunctionRule},
    {UnaryOp::Acos, "acos", "", true, kFunctionRule},
    {UnaryOp::Atan, "atan", "", true, kFunctionRule},
    {UnaryOp::Sinh, "sinh", "", true, kFunctionRule},
    {UnaryOp::Cosh, "cosh", "", true, kFunctionRule},
    {UnaryOp::Tanh, "tanh", "", true, kFunctionRule},
    {UnaryOp::Exp, "exp", "", true, kFunctionRule},
    {UnaryOp::Exp2, "exp2", "", true, kFunctionRule},
    {UnaryOp::Log, "log", "", true, kFunctionRule},
    {UnaryOp::Log2, "log2", "", true, kFunctionRule},
    {UnaryOp::IsNan, "is_nan", "", false, kFloatTestRule},
    {UnaryOp::IsInf, "is_inf", "", false, kFloatTestRule},
    {UnaryOp::IsFinite, "is_finite", "", false, kFloatTestRule},
    {UnaryOp::Unpack4Low, "unpack4_low", "", false, kWordRule},
    {UnaryOp::Unpack4High, "unpack4_high", "", false, kWordRule},
    {UnaryOp::Unpack8Low, "unpack8_low", "", false, kWordRule},
    {UnaryOp::Unpack8High, "unpack8_high", "", false, kWordRule},
}};

inline constexpr std::array<AtomicOpInfo, kAtomicOpCount> kAtomicOps{{
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

inline constexpr std::array<ReduceOpInfo, kReduceOpCount> kReduceOps{{
    {ReduceOp::Add, "add", kNumericTypes, BinaryOp::Add, BinaryOp::Add},
    {ReduceOp::Mul, "mul", kNumericTypes, BinaryOp::Mul, BinaryOp::Mul},
    {ReduceOp::Min, "min", kNumericTypes, BinaryOp::Min, BinaryOp::Min},
    {ReduceOp::Max, "max", kNumericTypes, BinaryOp::Max, BinaryOp::Max},
    {ReduceOp::And, "and", kIntegerTypes | Type::Bool, BinaryOp::BitAnd, BinaryOp::And},
    {ReduceOp::Or, "or", kIntegerTypes | Type::Bool, BinaryOp::BitOr, BinaryOp::Or},
    {ReduceOp::Xor, "xor", kIntegerTypes | Type::Bool, BinaryOp::BitXor, BinaryOp::Ne},
}};

inline constexpr std::array<OrderingInfo, kOrderingCount> kOrderings{{
    {Ordering::Relaxed, "relaxed", true, false},
    {Ordering::Acquire, "acquire", true, true},
    {Ordering::Release, "release", true, true},
    {Ordering::AcqRel, "acq_rel", true, true},
    {Ordering::SeqCst, "seq_cst", true, true},
    {Ordering::GridSync, "gridsync", false, true},
}};

}  // namespace felsite::ir
