// Exp, Exp2, Log, Log2 and the hyperbolic functions, for f32.
//
// All polynomials come from Sollya's fpminimax, with coefficients in single precision (SG). The
// comment beside each states the command and the remaining error.
#pragma once

#include <cstdint>

#include "arithmetic/value_traits.h"

namespace felsite::arithmetic::functions {

namespace exponential {

// 1.5 * 2^23: adding it rounds to an integer, and leaves that integer in the low bits.
inline constexpr float kRoundingMagic = 0x1.8p23F;
inline constexpr float kLog2E = 0x1.715476p0F;
// ln 2 in two parts. The first has 15 bits, so its product with an exponent is exact.
inline constexpr float kLn2High = 0x1.62e4p-1F;
inline constexpr float kLn2Low = 0x1.7f7d1cp-20F;

// x = exponent * ln 2 + high + low, with |high + low| at most slightly above ln 2 / 2.
template <class F>
struct Reduced {
  UIntOf<F> exponent_field;  // the exponent, positioned to be added to a float's bits
  F high;                    // exact
  F low;                     // much smaller, rounded
};

template <class F>
[[nodiscard]] constexpr Reduced<F> reduce(F x) {
  const F shifted = x * number<F>(kLog2E) + number<F>(kRoundingMagic);
  const F exponent = shifted - number<F>(kRoundingMagic);
  const F high = x - exponent * number<F>(kLn2High);
  return {bits(shifted) << word<F>(23), high, exponent * number<F>(-kLn2Low)};
}

// exp(r) - 1 - r over r^2:
// fpminimax(exp(x), [|2,3,4,5,6|], [|SG...|], [-0.3467;0.3467], 1+x, absolute), error 2^-27.6.
template <class F>
[[nodiscard]] constexpr F exp_tail(F r) {
  return r * r *
         polynomial(r, 0x1.fffff6p-2F, 0x1.55548ep-3F, 0x1.555c5ep-5F, 0x1.123be8p-7F,
                    0x1.681d3p-10F);
}

// 2^exponent * significand. The caller ensures that the result is a normal number.
template <class F>
[[nodiscard]] constexpr F scale(F significand, UIntOf<F> exponent_field) {
  return from_bits<F>(bits(significand) + exponent_field);
}

}  // namespace exponential

template <class F>
[[nodiscard]] constexpr F exp(F x) {
  const auto reduced = exponential::reduce(x);
  const F r = reduced.high + reduced.low;
  const F significand = number<F>(1.0F) + (r + exponential::exp_tail(r));
  const F scaled = exponential::scale(significand, reduced.exponent_field);
  // ln 2^-126 is just below the first limit, the logarithm of the greatest float just above the
  // second. Adding infinity turns too large results into infinity and keeps a NaN.
  const F flushed = select(x < number<F>(-0x1.5d589ep6F), number<F>(0.0F), scaled);
  return select(x <= number<F>(0x1.62e42ep6F), flushed, x + infinity<F>());
}

template <class F>
[[nodiscard]] constexpr F exp2(F x) {
  const F shifted = x + number<F>(exponential::kRoundingMagic);
  const F r = x - (shifted - number<F>(exponential::kRoundingMagic));
  // fpminimax(2^x, [|1,2,3,4,5,6|], [|SG...|], [-0.5;0.5], 1, absolute), error 2^-28.2.
  const F significand = polynomial(r, 1.0F, 0x1.62e43p-1F, 0x1.ebfbep-3F, 0x1.c6af72p-5F,
                                   0x1.3b2a44p-7F, 0x1.5f0dccp-10F, 0x1.44292ap-13F);
  const F scaled = exponential::scale(significand, bits(shifted) << word<F>(23));
  const F flushed = select(x < number<F>(-126.0F), number<F>(0.0F), scaled);
  return select(x < number<F>(128.0F), flushed, x + infinity<F>());
}

namespace logarithm {

// x = 2^exponent * (1 + fraction), with 1 + fraction from sqrt(1/2) to sqrt(2).
template <class F>
struct Split {
  F exponent;
  F fraction;
};

template <class F>
[[nodiscard]] constexpr Split<F> split(F x) {
  constexpr std::uint32_t kSqrtHalf = 0x3F35'04F3U;
  constexpr std::uint32_t kOne = 0x3F80'0000U;
  const auto shifted = bits(x) + word<F>(kOne - kSqrtHalf);
  const F exponent = to_float<F>(shifted >> word<F>(23)) - number<F>(127.0F);
  const F m = from_bits<F>((shifted & word<F>(0x007F'FFFFU)) + word<F>(kSqrtHalf));
  return {exponent, m - number<F>(1.0F)};
}

template <class F>
[[nodiscard]] constexpr F with_specials(F x, F result) {
  const F not_positive = select(x == number<F>(0.0F), -infinity<F>(), nan<F>());
  const F finite = select(x > number<F>(0.0F), result, not_positive);
  return select(x < infinity<F>(), finite, x);
}

}  // namespace logarithm

template <class F>
[[nodiscard]] constexpr F log(F x) {
  const auto [exponent, f] = logarithm::split(x);
  const F f2 = f * f;
  // fpminimax(log(1+x)/x, [|2,3,4,5,6,7,8,9|], [|SG...|], [sqrt(0.5)-1;sqrt(2)-1], 1-x/2,
  // absolute), error 2^-27.3.
  const F cubic = f * f2 *
                  polynomial(f, 0x1.55554ap-2F, -0x1.00022p-2F, 0x1.99a5aap-3F, -0x1.54789p-3F,
                             0x1.226dp-3F, -0x1.0cdf28p-3F, 0x1.07d7dp-3F, -0x1.4203eep-4F);
  const F low = exponent * number<F>(exponential::kLn2Low) + cubic;
  const F fraction_part = f - (f2 * number<F>(0.5F) - low);
  const F exponent_part = exponent * number<F>(exponential::kLn2High);  // exact
  return logarithm::with_specials(x, exponent_part + fraction_part);
}

template <class F>
[[nodiscard]] constexpr F log2(F x) {
  const auto [exponent, f] = logarithm::split(x);
  // fpminimax(log2(1+x)/x, [|0,1,2,3,4,5,6,7,8,9|], [|SG...|], [sqrt(0.5)-1;sqrt(2)-1], 1,
  // absolute), error 2^-26.1. The constrained 1 stands for f itself, which is exact.
  const F rest = f * polynomial(f, 0x1.c551dap-2F, -0x1.71547p-1F, 0x1.ec7028p-2F, -0x1.715a94p-2F,
                                0x1.278fe4p-2F, -0x1.ead202p-3F, 0x1.a0f066p-3F, -0x1.84bed4p-3F,
                                0x1.87ce3p-3F, -0x1.e5dbe4p-4F);
  return logarithm::with_specials(x, exponent + (f + rest));
}

namespace hyperbolic {

// cosh and sinh of exponent * ln 2, both halved so that they cover the range of the results.
template <class F>
struct PowerPair {
  F cosh;
  F sinh;
  F power;    // the larger term of both
  F inverse;  // the smaller one
};

template <class F>
[[nodiscard]] constexpr PowerPair<F> power_pair(UIntOf<F> exponent_field) {
  // The bits of 2^-n are twice the bits of 1 minus those of 2^n.
  const auto growing = exponent_field + word<F>((127U - 2U) << 23);
  const F power = from_bits<F>(growing);
  const F inverse = from_bits<F>(word<F>(254U << 23) - growing) * number<F>(0x1p-4F);
  return {power + inverse, power - inverse, power, inverse};
}

// cosh(r) - 1, |r| <= 0.3467:
// fpminimax(cosh(x), [|4,6|], [|SG...|], [2^-12;0.3467], 1+x^2/2, absolute), error 2^-33.2.
template <class F>
[[nodiscard]] constexpr F cosh_tail(F r2) {
  return r2 * polynomial(r2, 0.5F, 0x1.5554e6p-5F, 0x1.6d4f1p-10F);
}

// sinh(high + low) - high, with r = high + low rounded, |r| <= 0.3467:
// fpminimax(sinh(x), [|3,5|], [|SG...|], [2^-12;0.3467], x, relative), error 2^-26.2.
template <class F>
[[nodiscard]] constexpr F sinh_tail(F low, F r, F r2) {
  return low + r * r2 * polynomial(r2, 0x1.5554bp-3F, 0x1.1227ap-7F);
}

// Doubles the halved sum; from 89.5 on the result is infinite. Just below, doubling overflows by
// itself.
template <class F>
[[nodiscard]] constexpr F twice_with_overflow(F x, F half) {
  return select(x <= number<F>(89.5F), half + half, x + infinity<F>());
}

}  // namespace hyperbolic

// With x = n ln 2 + r: sinh x = cosh(r) sinh(n ln 2) + sinh(r) cosh(n ln 2), and likewise cosh x.
// This needs no division and no second exponential. The leading term of sinh(r) is multiplied
// separately, without the rounding of r and sinh(r) as a whole.
template <class F>
[[nodiscard]] constexpr F sinh(F x) {
  const F a = magnitude(x);
  const auto reduced = exponential::reduce(a);
  const F r = reduced.high + reduced.low;
  const F r2 = r * r;
  const F sinh_tail = hyperbolic::sinh_tail(reduced.low, r, r2);
  const auto power = hyperbolic::power_pair<F>(reduced.exponent_field);
  const F tail = hyperbolic::cosh_tail(r2) * power.sinh + sinh_tail * power.cosh;
  const F half = power.sinh + (reduced.high * power.cosh + tail);
  const F large = hyperbolic::twice_with_overflow(a, half);
  // Below ln 2 / 2 there is no power of two, and no halving that would flush tiny results.
  return with_sign(select(a < number<F>(0.34F), a + sinh_tail, large), sign_bit(x));
}

template <class F>
[[nodiscard]] constexpr F cosh(F x) {
  const F a = magnitude(x);
  const auto reduced = exponential::reduce(a);
  const F r = reduced.high + reduced.low;
  const F r2 = r * r;
  const F sinh_tail = hyperbolic::sinh_tail(reduced.low, r, r2);
  const auto power = hyperbolic::power_pair<F>(reduced.exponent_field);
  // As a leading term power.cosh would be off by up to 2^-24, so its two parts are added.
  const F cosh_tail = hyperbolic::cosh_tail(r2) * power.cosh + power.inverse;
  const F tail = cosh_tail + sinh_tail * power.sinh;
  const F half = power.power + (reduced.high * power.sinh + tail);
  return hyperbolic::twice_with_overflow(a, half);
}

// 1 - 2 / (exp(2x) + 1), or a polynomial where that would cancel.
template <class F>
[[nodiscard]] constexpr F tanh(F x) {
  const F unbounded = magnitude(x);
  // From 9.02 on the result is 1; the bound keeps the power of two in range. A NaN passes through.
  const F a = select(unbounded > number<F>(10.0F), number<F>(10.0F), unbounded);
  const auto reduced = exponential::reduce(a + a);
  const F r = reduced.high + reduced.low;
  const F power = from_bits<F>(reduced.exponent_field + word<F>(127U << 23));
  // exp(2x) + 1, with the exact part added first.
  const F denominator = (power + number<F>(1.0F)) + power * (r + exponential::exp_tail(r));
  const F large = number<F>(1.0F) - number<F>(2.0F) / denominator;
  const F a2 = a * a;
  // fpminimax(tanh(x), [|3,5,7,9,11|], [|SG...|], [2^-12;0.65], x, relative), error 2^-27.1.
  const F small = a + a * a2 *
                          polynomial(a2, -0x1.555524p-2F, 0x1.1103fp-3F, -0x1.b7cfbap-5F,
                                     0x1.4f5dap-6F, -0x1.696b9cp-8F);
  const F result = select(a < number<F>(0.65F), small, large);
  return with_sign(result, sign_bit(x));
}

}  // namespace felsite::arithmetic::functions
