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
    {BinaryOp::Add, "add", "+", 9, kNumericRule},
    {BinaryOp::Sub, "sub", "-", 9, kNumericRule},
    {BinaryOp::Mul, "mul", "*", 10, kNumericRule},
    {BinaryOp::Div, "div", "/", 10, kNumericRule},
    {BinaryOp::Mod, "mod", "%", 10, kIntegerRule},
    {BinaryOp::MulHigh, "mul_high", "", 0, kIntegerRule},
    {BinaryOp::BitAnd, "bit_and", "&", 7, kIntegerRule},
    {BinaryOp::BitOr, "bit_or", "|", 5, kIntegerRule},
    {BinaryOp::BitXor, "bit_xor", "^", 6, kIntegerRule},
    {BinaryOp::Shl, "shl", "<<", 8, kIntegerRule},
    {BinaryOp::Shr, "shr", ">>", 8, kIntegerRule},
    {BinaryOp::RotateLeft, "rotate_left", "", 0, kIntegerRule},
    {BinaryOp::RotateRight, "rotate_right", "", 0, kIntegerRule},
    {BinaryOp::Eq, "eq", "==", 3, kEqualityRule},
    {BinaryOp::Ne, "ne", "!=", 3, kEqualityRule},
    {BinaryOp::Lt, "lt", "<", 4, kOrderRule},
    {BinaryOp::Gt, "gt", ">", 4, kOrderRule},
    {BinaryOp::Le, "le", "<=", 4, kOrderRule},
    {BinaryOp::Ge, "ge", ">=", 4, kOrderRule},
    {BinaryOp::And, "and", "&&", 2, kLogicRule},
    {BinaryOp::Or, "or", "||", 1, kLogicRule},
    {BinaryOp::Min, "min", "", 0, kNumericRule},
    {BinaryOp::Max, "max", "", 0, kNumericRule},
    {BinaryOp::AbsDiff, "abs_diff", "", 0, {kIntegerTypes, ResultRule::Unsigned}},
    {BinaryOp::SaturatingAdd, "saturating_add", "", 0, kIntegerRule},
    {BinaryOp::SaturatingSub, "saturating_sub", "", 0, kIntegerRule},
    {BinaryOp::SaturatingMul, "saturating_mul", "", 0, kIntegerRule},
    {BinaryOp::WrappingAdd, "wrapping_add", "", 0, kIntegerRule},
    {BinaryOp::WrappingSub, "wrapping_sub", "", 0, kIntegerRule},
}};

inline constexpr std::array<UnaryOpInfo, kUnaryOpCount> kUnaryOps{{
    {UnaryOp::Negate, "negate", "-", kNumericRule},
    {UnaryOp::BitNot, "bit_not", "~", kIntegerRule},
    {UnaryOp::LogicalNot, "not", "!", kLogicRule},
    {UnaryOp::Popcount, "popcount", "", kBitCountRule},
    {UnaryOp::Clz, "clz", "", kBitCountRule},
    {UnaryOp::Ctz, "ctz", "", kBitCountRule},
    {UnaryOp::ReverseBits, "reverse_bits", "", kIntegerRule},
    {UnaryOp::Abs, "abs", "", kSignedOrFloatRule},
    {UnaryOp::Sign, "sign", "", kSignedOrFloatRule},
    {UnaryOp::Floor, "floor", "", kFloatRule},
    {UnaryOp::Ceil, "ceil", "", kFloatRule},
    {UnaryOp::Round, "round", "", kFloatRule},
    {UnaryOp::Trunc, "trunc", "", kFloatRule},
    {UnaryOp::Sqrt, "sqrt", "", kFloatRule},
    {UnaryOp::InverseSqrt, "inverse_sqrt", "", kFloatRule},
    {UnaryOp::Reciprocal, "reciprocal", "", kFloatRule},
    {UnaryOp::Sin, "sin", "", kFunctionRule},
    {UnaryOp::Cos, "cos", "", kFunctionRule},
    {UnaryOp::Tan, "tan", "", kFunctionRule},
    {UnaryOp::Asin, "asin", "", kFunctionRule},
    {UnaryOp::Acos, "acos", "", kFunctionRule},
    {UnaryOp::Atan, "atan", "", kFunctionRule},
    {UnaryOp::Sinh, "sinh", "", kFunctionRule},
    {UnaryOp::Cosh, "cosh", "", kFunctionRule},
    {UnaryOp::Tanh, "tanh", "", kFunctionRule},
    {UnaryOp::Exp, "exp", "", kFunctionRule},
    {UnaryOp::Exp2, "exp2", "", kFunctionRule},
    {UnaryOp::Log, "log", "", kFunctionRule},
    {UnaryOp::Log2, "log2", "", kFunctionRule},
    {UnaryOp::IsNan, "is_nan", "", kFloatTestRule},
    {UnaryOp::IsInf, "is_inf", "", kFloatTestRule},
    {UnaryOp::IsFinite, "is_finite", "", kFloatTestRule},
    {UnaryOp::Unpack4Low, "unpack4_low", "", kWordRule},
    {UnaryOp::Unpack4High, "unpack4_high", "", kWordRule},
    {UnaryOp::Unpack8Low, "unpack8_low", "", kWordRule},
    {UnaryOp::Unpack8High, "unpack8_high", "", kWordRule},
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
    {ReduceOp::Add, "add", kNumericTypes},
    {ReduceOp::Mul, "mul", kNumericTypes},
    {ReduceOp::Min, "min", kNumericTypes},
    {ReduceOp::Max, "max", kNumericTypes},
    {ReduceOp::And, "and", kIntegerTypes | Type::Bool},
    {ReduceOp::Or, "or", kIntegerTypes | Type::Bool},
    {ReduceOp::Xor, "xor", kIntegerTypes | Type::Bool},
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
