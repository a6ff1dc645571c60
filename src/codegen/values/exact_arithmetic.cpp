#include "codegen/values/exact_arithmetic.h"

#include "codegen/values/emitter.h"
#include "codegen/values/float_bits.h"
#include "codegen/values/float_layout.h"

namespace felsite::codegen {
namespace {

template <class F>
F number(Emitter& e, typename FloatLayout<F>::Number value) {
  return e.number(value);
}

// A zero result takes the sign of the operand. Other results have it already.
template <class F>
F with_sign_of(F x, F result) {
  return from_bits(bits(result) | sign_bit(x));
}

}  // namespace

// A subnormal sum is exact, so flushing what the device gives is the whole rule; unless the driver
// leaves out the addition of a zero, and with it the sign that the sum of two zeros has.
template <class F>
F exact_add(F a, F b) {
  const F sum = flushed(a + b);
  if (!a.emitter->mask().folds_float_zeros) return sum;
  const Flag both_zero = (magnitude_bits(a) | magnitude_bits(b)) == typename FloatLayout<F>::Raw{0};
  return select(both_zero, from_bits(bits(a) & bits(b)), sum);
}

template <class F>
F exact_sub(F a, F b) {
  if (a.emitter->mask().folds_float_zeros) return exact_add(a, exact_negate(b));
  return flushed(a - b);
}

// A product above the least normal number is right as it is. Below, devices differ in what they
// make of it: then it is a zero or the least normal number, as the product scaled up says, which
// cannot underflow there. Scaling is exact, unless it overflows: then the other factor is zero.
template <class F>
F exact_mul(F a, F b) {
  using Layout = FloatLayout<F>;
  Emitter& e = *a.emitter;
  const auto product = bits(a * b);
  const auto scaled = magnitude_bits((a * number<F>(e, Layout::kScaleUp)) * b);
  // Unsigned, so that infinities and NaNs fall out of the range too.
  const Flag is_least =
      scaled - Layout::kScaledLeastNormal < Layout::kInfinity - Layout::kScaledLeastNormal;
  const auto size =
      select(is_least, Layout::constant(e, Layout::kLeastNormal), Layout::constant(e, 0));
  const auto sign = (bits(a) ^ bits(b)) & Layout::kSign;
  const Flag is_settled = (product & Layout::kMagnitude) >= Layout::kLeastNormal + 1;
  const auto result = select(is_settled, product, size | sign);
  if (!e.mask().folds_float_zeros) return from_bits(result);
  // Zero times infinity, or times a NaN, is a NaN, which the driver may have made a zero.
  const auto is_zero = [](F x) { return magnitude_bits(x) == typename Layout::Raw{0}; };
  const auto is_special = [](F x) { return magnitude_bits(x) >= Layout::kInfinity; };
  const Flag is_nan = (is_zero(a) && is_special(b)) || (is_zero(b) && is_special(a));
  return from_bits(select(is_nan, Layout::constant(e, Layout::kNan), result));
}

// Of two equal values only the zeros can differ in bits: the sign is or-ed for Min, and-ed for Max.
template <class F>
F exact_min(F a, F b) {
  const F equal = from_bits(bits(a) | bits(b));
  return select(a < b || is_nan(b), a, select(a == b, equal, b));
}

template <class F>
F exact_max(F a, F b) {
  const F equal = from_bits(bits(a) & bits(b));
  return select(a > b || is_nan(b), a, select(a == b, equal, b));
}

template <class F>
F exact_negate(F x) {
  return from_bits(bits(x) ^ FloatLayout<F>::kSign);
}

template <class F>
F exact_abs(F x) {
  return from_bits(magnitude_bits(x));
}

template <class F>
F exact_sign(F x) {
  using Layout = FloatLayout<F>;
  Emitter& e = *x.emitter;
  const auto one = Layout::constant(e, Layout::kOne) | sign_bit(x);
  const auto magnitude = magnitude_bits(x);
  const auto size = select(magnitude == typename Layout::Raw{0}, Layout::constant(e, 0), one);
  return select(is_nan(x), x, from_bits(size));
}

template <class F>
F exact_floor(F x) {
  return with_sign_of(x, through_glsl(GLSLstd450Floor, x));
}

template <class F>
F exact_ceil(F x) {
  return with_sign_of(x, through_glsl(GLSLstd450Ceil, x));
}

// Uses the floor of the magnitude: lavapipe's Trunc of f64 leaves halves at 2^51.
template <class F>
F exact_trunc(F x) {
  return with_sign_of(x, through_glsl(GLSLstd450Floor, exact_abs(x)));
}

// Half away from zero: what the floor cuts off is exact.
template <class F>
F exact_round(F x) {
  Emitter& e = *x.emitter;
  const F magnitude = exact_abs(x);
  const F whole = through_glsl(GLSLstd450Floor, magnitude);
  const Flag rounds_up = magnitude - whole >= number<F>(e, 0.5F);
  return with_sign_of(x, select(rounds_up, whole + number<F>(e, 1.0F), whole));
}

#define FELSITE_INSTANTIATE(F) \
  template F exact_add(F, F);  \
  template F exact_sub(F, F);  \
  template F exact_mul(F, F);  \
  template F exact_min(F, F);  \
  template F exact_max(F, F);  \
  template F exact_negate(F);  \
  template F exact_abs(F);     \
  template F exact_sign(F);    \
  template F exact_floor(F);   \
  template F exact_ceil(F);    \
  template F exact_round(F);   \
  template F exact_trunc(F);

FELSITE_INSTANTIATE(Float)
FELSITE_INSTANTIATE(Double)

#undef FELSITE_INSTANTIATE

}  // namespace felsite::codegen
