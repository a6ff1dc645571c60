#include "codegen/values/float_arithmetic.h"

#include "codegen/values/exact_arithmetic.h"
#include "codegen/values/float_bits.h"
#include "codegen/values/float_layout.h"
#include "codegen/values/function_values.h"

namespace felsite::codegen {
namespace {

using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;

template <class F>
F through_glsl(GLSLstd450 instruction, std::initializer_list<F> operands) {
  Emitter& e = *operands.begin()->emitter;
  const Id type = e.type_of(FloatLayout<F>::kType);
  const F* const x = operands.begin();
  switch (operands.size()) {
    case 1:
      return {&e, e.glsl(instruction, type, {x[0].id})};
    case 2:
      return {&e, e.glsl(instruction, type, {x[0].id, x[1].id})};
    default:
      return {&e, e.glsl(instruction, type, {x[0].id, x[1].id, x[2].id})};
  }
}

// The operations before any rounding to a narrow type. Exact, or the device's own.
template <class F>
F binary(BinaryOp op, F a, F b) {
  const bool exact = a.emitter->exact();
  if (op == BinaryOp::Add) return exact ? exact_add(a, b) : a + b;
  if (op == BinaryOp::Sub) return exact ? exact_sub(a, b) : a - b;
  if (op == BinaryOp::Mul) return exact ? exact_mul(a, b) : a * b;
  if (op == BinaryOp::Div) return exact ? exact_div(a, b) : near_divide(a, b);
  if (op == BinaryOp::Min) return exact ? exact_min(a, b) : through_glsl(GLSLstd450NMin, {a, b});
  return exact ? exact_max(a, b) : through_glsl(GLSLstd450NMax, {a, b});
}

template <class F>
F negated(F x) {
  Emitter& e = *x.emitter;
  if (e.exact()) return exact_negate(x);
  return {&e, e.emit_float(spv::Op::OpFNegate, e.type_of(FloatLayout<F>::kType), {x.id})};
}

template <class F>
F reciprocal(F x) {
  Emitter& e = *x.emitter;
  const F one = e.number(typename FloatLayout<F>::Number{1});
  return e.exact() ? exact_div(one, x) : near_divide(one, x);
}

template <class F>
F inverse_sqrt(F x) {
  if (!x.emitter->exact()) return through_glsl(GLSLstd450InverseSqrt, {x});
  return reciprocal(exact_sqrt(x));
}

// Rounding to whole numbers and the sign are as cheap as the device's own, or are them.
template <class F>
F unary(UnaryOp op, F x) {
  if (op == UnaryOp::Negate) return negated(x);
  if (op == UnaryOp::Abs) return exact_abs(x);
  if (op == UnaryOp::Sign) return exact_sign(x);
  if (op == UnaryOp::Floor) return exact_floor(x);
  if (op == UnaryOp::Ceil) return exact_ceil(x);
  if (op == UnaryOp::Round) return exact_round(x);
  if (op == UnaryOp::Trunc) return exact_trunc(x);
  if (op == UnaryOp::Sqrt) return x.emitter->exact() ? exact_sqrt(x) : near_sqrt(x);
  return op == UnaryOp::InverseSqrt ? inverse_sqrt(x) : reciprocal(x);
}

template <class F>
F fused(F a, F b, F c) {
  return a.emitter->exact() ? exact_fma(a, b, c) : through_glsl(GLSLstd450Fma, {a, b, c});
}

bool is_function(UnaryOp op) { return op >= UnaryOp::Sin && op <= UnaryOp::Log2; }

// Whether the operation gives values of a narrow type whenever its operands are such.
bool stays_narrow(BinaryOp op) { return op == BinaryOp::Min || op == BinaryOp::Max; }
bool stays_narrow(UnaryOp op) {
  return op == UnaryOp::Negate || (op >= UnaryOp::Abs && op <= UnaryOp::Trunc);
}

Value rounded_to_type(Type type, Float x) {
  if (type == Type::F16) return {type, rounded_to_half(x)};
  if (type == Type::BF16) return {type, rounded_to_brain(x)};
  return {type, x};
}

template <class F>
Flag compare(BinaryOp op, F a, F b) {
  if (op == BinaryOp::Eq) return a == b;
  if (op == BinaryOp::Ne) return !(a == b);
  if (op == BinaryOp::Lt) return a < b;
  if (op == BinaryOp::Gt) return a > b;
  return op == BinaryOp::Le ? a <= b : a >= b;
}

// On the bits, as drivers may take it that there are no such values.
template <class F>
Flag classify(UnaryOp op, F x) {
  constexpr auto kInfinity = FloatLayout<F>::kInfinity;
  if (op == UnaryOp::IsNan) return is_nan(x);
  if (op == UnaryOp::IsInf) return magnitude_bits(x) == kInfinity;
  return magnitude_bits(x) < kInfinity;
}

// Sums and products of f16 values are far from the subnormals of f32: nothing to flush.
bool is_plain_for_half(BinaryOp op) {
  return op == BinaryOp::Add || op == BinaryOp::Sub || op == BinaryOp::Mul;
}

Float plain(BinaryOp op, Float a, Float b) {
  if (op == BinaryOp::Add) return a + b;
  return op == BinaryOp::Sub ? a - b : a * b;
}

}  // namespace

Value lower_float_binary(BinaryOp op, Value a, Value b) {
  const bool is_double = a.type == Type::F64;
  if (op >= BinaryOp::Eq && op <= BinaryOp::Ge) {
    return {Type::Bool,
            is_double ? compare(op, a.real64(), b.real64()) : compare(op, a.real(), b.real())};
  }
  if (is_double) return {a.type, binary(op, a.real64(), b.real64())};
  if (stays_narrow(op)) return {a.type, binary(op, a.real(), b.real())};
  if (a.type == Type::F16 && is_plain_for_half(op) && !a.emitter().mask().folds_float_zeros) {
    return {a.type, rounded_to_half(plain(op, a.real(), b.real()))};
  }
  return rounded_to_type(a.type, binary(op, a.real(), b.real()));
}

Value lower_float_unary(UnaryOp op, Value a) {
  const bool is_double = a.type == Type::F64;
  if (op >= UnaryOp::IsNan && op <= UnaryOp::IsFinite) {
    return {Type::Bool, is_double ? classify(op, a.real64()) : classify(op, a.real())};
  }
  if (is_double) return {a.type, unary(op, a.real64())};
  if (is_function(op)) return rounded_to_type(a.type, transcendental(op, a.real()));
  const Float result = unary(op, a.real());
  return stays_narrow(op) ? Value(a.type, result) : rounded_to_type(a.type, result);
}

Value lower_fma(Value a, Value b, Value c) {
  if (a.type == Type::F64) return {a.type, fused(a.real64(), b.real64(), c.real64())};
  // The product of two f16 values is exact in f32, so the sum rounds once by itself.
  if (a.type == Type::F16) {
    const Float product = binary(BinaryOp::Mul, a.real(), b.real());
    return {a.type, rounded_to_half(binary(BinaryOp::Add, product, c.real()))};
  }
  return rounded_to_type(a.type, fused(a.real(), b.real(), c.real()));
}

}  // namespace felsite::codegen
