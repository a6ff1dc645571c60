// Division and square root: the device's own, which are only near, give the first digits; integer
// arithmetic finds the last ones, so that the rounding is decided and not guessed.
#include "codegen/values/emitter.h"
#include "codegen/values/exact_arithmetic.h"
#include "codegen/values/float_layout.h"

namespace felsite::codegen {
namespace {

// A significand as an integer, with the implicit bit.
template <class F>
BitsOf<F> significand(F x) {
  using Layout = FloatLayout<F>;
  return (bits(x) & (Layout::kLeastNormal - 1)) | Layout::kLeastNormal;
}

// The significand times the power of two that the exponent field says.
template <class F>
F scaled_significand(F x, Word exponent) {
  using Layout = FloatLayout<F>;
  return from_bits((bits(x) & (Layout::kLeastNormal - 1)) | Layout::exponent_bits(exponent));
}

template <class Bits>
Bits lesser(Bits a, Bits b) {
  return select(b < a, b, a);
}

// An estimate of a number from 1 to below 2, as an integer with one bit more than a significand.
// An estimate outside that range is moved to its bound, which is nearer to the truth.
template <class F>
BitsOf<F> estimate_as_integer(F estimate) {
  using Layout = FloatLayout<F>;
  Emitter& e = *estimate.emitter;
  const auto one = Layout::constant(e, Layout::kOne);
  const auto below_two = Layout::constant(e, Layout::kOne + Layout::kLeastNormal - 1);
  const auto all = bits(estimate);
  const auto bounded = lesser(select(all < one, one, all), below_two);
  return (bounded - (Layout::kOne - Layout::kLeastNormal)) << 1U;
}

// The digits of a quotient of significands, a from b to below 2 b. The device's division is within
// 2.5 units in the last place, which are 5 of these, and one for what the estimate cuts off.
template <class F>
BitsOf<F> quotient_digits(BitsOf<F> a, BitsOf<F> b, F estimate) {
  using Layout = FloatLayout<F>;
  auto quotient = estimate_as_integer(estimate) - typename Layout::Raw{8};
  // The upper bits wrap away on both sides: what is left is below 16 b.
  auto rest = (a << (Layout::kFractionBits + 1)) - quotient * b;
  for (std::uint32_t shift = 4; shift-- > 0;) {
    const auto step = b << shift;
    const Flag fits = rest >= step;
    rest = select(fits, rest - step, rest);
    quotient = select(fits, quotient + (typename Layout::Raw{1} << shift), quotient);
  }
  return quotient;
}

template <class F>
F divide_body(F a, F b) {
  using Layout = FloatLayout<F>;
  Emitter& e = *a.emitter;
  const auto zero = Layout::constant(e, 0);
  const auto infinity = Layout::constant(e, Layout::kInfinity);
  const auto a_digits = significand(a);
  const auto b_digits = significand(b);
  const Flag is_less = a_digits < b_digits;
  const Word doubling = zero_or_one(is_less);
  const F estimate = near_divide(scaled_significand(a, doubling + Layout::kBias),
                                 scaled_significand(b, e.word(Layout::kBias)));
  const auto digits =
      quotient_digits(select(is_less, a_digits << 1U, a_digits), b_digits, estimate);
  // One digit too many, and a quotient is never half way: rounding is adding half. It cannot carry
  // into the exponent, since no quotient is closer to 2 than the greatest significand.
  const auto rounded = (digits + typename Layout::Raw{1}) >> 1U;
  const auto a_bits = magnitude_bits(a);
  const auto b_bits = magnitude_bits(b);
  const Word exponent =
      Layout::exponent_of(a_bits) - Layout::exponent_of(b_bits) + Layout::kBias - doubling;
  const auto packed = Layout::exponent_bits(exponent) + (rounded - Layout::kLeastNormal);
  const auto not_tiny = select(signed_less(exponent, e.word(1)), zero, packed);
  const Flag is_huge = signed_less(e.word(Layout::kSpecialExponent - 1), exponent);
  const auto finite = select(is_huge, infinity, not_tiny);

  const Flag a_is_zero = a_bits == zero;
  const Flag b_is_zero = b_bits == zero;
  const Flag a_is_infinite = a_bits == infinity;
  const Flag b_is_infinite = b_bits == infinity;
  const auto or_zero = select(a_is_zero || b_is_infinite, zero, finite);
  const auto or_infinity = select(b_is_zero || a_is_infinite, infinity, or_zero);
  const Flag has_none = (a_is_zero && b_is_zero) || (a_is_infinite && b_is_infinite);
  const Flag gives_nan = has_none || is_nan(a) || is_nan(b);
  const auto sign = (bits(a) ^ bits(b)) & Layout::kSign;
  return from_bits(select(gives_nan, Layout::constant(e, Layout::kNan), or_infinity | sign));
}

// The digits of the square root of square * 2^(fraction + 1). Vulkan has no bound for it but that
// of 1 / inversesqrt(x), 2 units in the last place and then 2.5, which can come to 13 of these.
template <class F>
BitsOf<F> root_digits(BitsOf<F> square, F estimate) {
  using Layout = FloatLayout<F>;
  using Raw = typename Layout::Raw;
  auto root = estimate_as_integer(estimate) - Raw{16};
  auto rest = (square << (Layout::kFractionBits + 1)) - root * root;
  for (std::uint32_t shift = 5; shift-- > 0;) {
    // (root + d)^2 - root^2
    const auto step = ((root << 1U) + (Raw{1} << shift)) << shift;
    const Flag fits = rest >= step;
    rest = select(fits, rest - step, rest);
    root = select(fits, root + (Raw{1} << shift), root);
  }
  return root;
}

template <class F>
F square_root_body(F x) {
  using Layout = FloatLayout<F>;
  Emitter& e = *x.emitter;
  const auto all = bits(x);
  const Word exponent = Layout::exponent_of(all);
  // An odd power of two leaves one factor of two with the significand. The bias is odd.
  const Word odd = (exponent & 1U) ^ 1U;
  const F estimate = near_sqrt(scaled_significand(x, odd + Layout::kBias));
  const auto digits = root_digits<F>(significand(x) << (odd + 1U), estimate);
  // As for quotients: never half way, and no carry.
  const auto rounded = (digits + typename Layout::Raw{1}) >> 1U;
  const Word half_exponent = (exponent + Layout::kBias) >> 1U;
  const auto root = Layout::exponent_bits(half_exponent) + (rounded - Layout::kLeastNormal);

  const auto infinity = Layout::constant(e, Layout::kInfinity);
  const Flag is_itself = magnitude_bits(x) == Layout::constant(e, 0) || all == infinity;
  const auto special = select(is_itself, all, Layout::constant(e, Layout::kNan));
  const Flag is_normal = all - Layout::kLeastNormal < Layout::kInfinity - Layout::kLeastNormal;
  return from_bits(select(is_normal, root, special));
}

template <class F>
constexpr bool kIsSingle = FloatLayout<F>::kType == ir::Type::F32;

}  // namespace

template <class F>
F exact_div(F a, F b) {
  Emitter& e = *a.emitter;
  constexpr auto kType = FloatLayout<F>::kType;
  const Id type = e.type_of(kType);
  const auto body = [&](FunctionWriter& f) {
    return divide_body(F{&e, f.param(0)}, F{&e, f.param(1)}).id;
  };
  return {&e, e.call_helper(Helper::Divide, static_cast<std::uint32_t>(kType),
                            kIsSingle<F> ? "divide_f32" : "divide_f64", type, {type, type},
                            {a.id, b.id}, body)};
}

template <class F>
F exact_sqrt(F x) {
  Emitter& e = *x.emitter;
  constexpr auto kType = FloatLayout<F>::kType;
  const Id type = e.type_of(kType);
  const auto body = [&](FunctionWriter& f) { return square_root_body(F{&e, f.param(0)}).id; };
  return {&e, e.call_helper(Helper::SquareRoot, static_cast<std::uint32_t>(kType),
                            kIsSingle<F> ? "sqrt_f32" : "sqrt_f64", type, {type}, {x.id}, body)};
}

template Float exact_div(Float, Float);
template Double exact_div(Double, Double);
template Float exact_sqrt(Float);
template Double exact_sqrt(Double);

}  // namespace felsite::codegen
