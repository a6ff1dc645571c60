#include <type_traits>

#include "codegen/values/arithmetic.h"
#include "codegen/values/exact_arithmetic.h"
#include "codegen/values/float_bits.h"
#include "codegen/values/float_layout.h"

namespace felsite::codegen {
namespace {

using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;

template <class F>
F add(F a, F b) {
  return a.emitter->exact() ? exact_add(a, b) : a + b;
}

template <class F>
F multiply(F a, F b) {
  return a.emitter->exact() ? exact_mul(a, b) : a * b;
}

template <class F>
F divide(F a, F b) {
  return a.emitter->exact() ? exact_div(a, b) : near_divide(a, b);
}

template <class F>
F square_root(F x) {
  return x.emitter->exact() ? exact_sqrt(x) : near_sqrt(x);
}

template <class F>
F reciprocal(F x) {
  return divide(F(x.emitter->number(typename FloatLayout<F>::Number{1})), x);
}

template <class F>
F inverse_sqrt(F x) {
  if (!x.emitter->exact()) return through_glsl(GLSLstd450InverseSqrt, x);
  return reciprocal(exact_sqrt(x));
}

template <class F>
F negated(F x) {
  return x.emitter->exact() ? exact_negate(x) : near_negate(x);
}

template <class F>
F fused(F a, F b, F c) {
  return a.emitter->exact() ? exact_fma(a, b, c) : through_glsl(GLSLstd450Fma, a, b, c);
}

// A value that was computed in f32, rounded to its type.
Value rounded(Type type, Float x) {
  if (type == Type::F16) return {type, rounded_to_half(x)};
  if (type == Type::BF16) return {type, rounded_to_brain(x)};
  return {type, x};
}
Value rounded(Type type, Double x) { return {type, x}; }

// Min and Max of narrow floats are narrow floats: only the other operations round.
template <class F>
Value binary(BinaryOp op, Type type, F a, F b) {
  const Emitter& e = *a.emitter;
  // Sums and products of f16 values are far from the subnormals of f32: nothing is to be flushed.
  const bool is_plain = type == Type::F16 && !e.mask().folds_float_zeros;
  switch (op) {
    case BinaryOp::Add:
      return rounded(type, is_plain ? a + b : add(a, b));
    case BinaryOp::Sub:
      return rounded(type, is_plain || !e.exact() ? a - b : exact_sub(a, b));
    case BinaryOp::Mul:
      return rounded(type, is_plain ? a * b : multiply(a, b));
    case BinaryOp::Div:
      return rounded(type, divide(a, b));
    case BinaryOp::Min:
      return {type, e.exact() ? exact_min(a, b) : through_glsl(GLSLstd450NMin, a, b)};
    case BinaryOp::Max:
      return {type, e.exact() ? exact_max(a, b) : through_glsl(GLSLstd450NMax, a, b)};
    case BinaryOp::Eq:
      return {Type::Bool, a == b};
    case BinaryOp::Ne:
      return {Type::Bool, !(a == b)};
    case BinaryOp::Lt:
      return {Type::Bool, a < b};
    case BinaryOp::Gt:
      return {Type::Bool, a > b};
    case BinaryOp::Le:
      return {Type::Bool, a <= b};
    case BinaryOp::Ge:
      return {Type::Bool, a >= b};
    case BinaryOp::Mod:
    case BinaryOp::MulHigh:
    case BinaryOp::BitAnd:
    case BinaryOp::BitOr:
    case BinaryOp::BitXor:
    case BinaryOp::Shl:
    case BinaryOp::Shr:
    case BinaryOp::RotateLeft:
    case BinaryOp::RotateRight:
    case BinaryOp::And:
    case BinaryOp::Or:
    case BinaryOp::AbsDiff:
    case BinaryOp::SaturatingAdd:
    case BinaryOp::SaturatingSub:
    case BinaryOp::SaturatingMul:
    case BinaryOp::WrappingAdd:
    case BinaryOp::WrappingSub:
      break;  // not for floats
  }
  return {};
}

// Rounding to whole numbers and the sign cost no more than the device's own, and keep narrow floats
// narrow. Classes are read from the bits: drivers may assume that there are no NaNs or infinities.
template <class F>
Value unary(UnaryOp op, Type type, F x) {
  constexpr auto kInfinity = FloatLayout<F>::kInfinity;
  switch (op) {
    case UnaryOp::Negate:
      return {type, negated(x)};
    case UnaryOp::Abs:
      return {type, exact_abs(x)};
    case UnaryOp::Sign:
      return {type, exact_sign(x)};
    case UnaryOp::Floor:
      return {type, exact_floor(x)};
    case UnaryOp::Ceil:
      return {type, exact_ceil(x)};
    case UnaryOp::Round:
      return {type, exact_round(x)};
    case UnaryOp::Trunc:
      return {type, exact_trunc(x)};
    case UnaryOp::Sqrt:
      return rounded(type, square_root(x));
    case UnaryOp::InverseSqrt:
      return rounded(type, inverse_sqrt(x));
    case UnaryOp::Reciprocal:
      return rounded(type, reciprocal(x));
    case UnaryOp::Sin:
    case UnaryOp::Cos:
    case UnaryOp::Tan:
    case UnaryOp::Asin:
    case UnaryOp::Acos:
    case UnaryOp::Atan:
    case UnaryOp::Sinh:
    case UnaryOp::Cosh:
    case UnaryOp::Tanh:
    case UnaryOp::Exp:
    case UnaryOp::Exp2:
    case UnaryOp::Log:
    case UnaryOp::Log2:
      if constexpr (std::is_same_v<F, Float>) return rounded(type, transcendental(op, x));
      break;  // not for f64
    case UnaryOp::IsNan:
      return {Type::Bool, is_nan(x)};
    case UnaryOp::IsInf:
      return {Type::Bool, magnitude_bits(x) == kInfinity};
    case UnaryOp::IsFinite:
      return {Type::Bool, magnitude_bits(x) < kInfinity};
    case UnaryOp::BitNot:
    case UnaryOp::LogicalNot:
    case UnaryOp::Popcount:
    case UnaryOp::Clz:
    case UnaryOp::Ctz:
    case UnaryOp::ReverseBits:
    case UnaryOp::Unpack4Low:
    case UnaryOp::Unpack4High:
    case UnaryOp::Unpack8Low:
    case UnaryOp::Unpack8High:
      break;  // not for floats
  }
  return {};
}

}  // namespace

Value lower_float_binary(BinaryOp op, Value a, Value b) {
  if (a.type == Type::F64) return binary(op, a.type, a.real64(), b.real64());
  return binary(op, a.type, a.real(), b.real());
}

Value lower_float_unary(UnaryOp op, Value a) {
  return a.type == Type::F64 ? unary(op, a.type, a.real64()) : unary(op, a.type, a.real());
}

Value lower_fma(Value a, Value b, Value c) {
  if (a.type == Type::F64) return {a.type, fused(a.real64(), b.real64(), c.real64())};
  // The product of two f16 values is exact in f32, so the sum rounds once by itself.
  if (a.type == Type::F16) {
    return {a.type, rounded_to_half(add(multiply(a.real(), b.real()), c.real()))};
  }
  return rounded(a.type, fused(a.real(), b.real(), c.real()));
}

}  // namespace felsite::codegen
