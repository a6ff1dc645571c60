// Asin, Acos and Atan, for f32.
//
// All polynomials come from Sollya's fpminimax, with coefficients in single precision (SG). The
// comment beside each states the command and the remaining error.
#pragma once

#include "arithmetic/value_traits.h"

namespace felsite::arithmetic::functions {

namespace inverse_trigonometric {

// pi/2 in two parts, the first short.
inline constexpr float kHalfPiHigh = 1.5625F;
inline constexpr float kHalfPiLow = 0x1.0fdaa2p-7F;

// asin(s) - s for 0 <= |s| <= 0.5, s2 its square:
// fpminimax(asin(x), [|3,5,7,9,11|], [|SG...|], [2^-12;0.5], x, relative), error 2^-27.6.
template <class F>
[[nodiscard]] constexpr F asin_tail(F s, F s2) {
  return s * s2 *
         polynomial(s2, 0x1.5555c8p-3F, 0x1.330206p-4F, 0x1.747b72p-5F, 0x1.8c415ap-6F,
                    0x1.5959aap-5F);
}

// (1 - a) / 2, exact from 0.5 to 1; the arc sine of its square root is (pi/2 - asin a) / 2. Beyond
// 1 it is negative, and the square root gives the NaN.
template <class F>
[[nodiscard]] constexpr F half_complement(F a) {
  return number<F>(0.5F) - number<F>(0.5F) * a;
}

// pi/2 - (value + tail). The leading difference is exact if the result is below 1, since the
// difference is then below 1 too: the low part of pi/2 outweighs the tail there.
template <class F>
[[nodiscard]] constexpr F from_half_pi(F value, F tail) {
  return (number<F>(kHalfPiHigh) - value) + (number<F>(kHalfPiLow) - tail);
}

}  // namespace inverse_trigonometric

template <class F>
[[nodiscard]] constexpr F asin(F x) {
  const F a = magnitude(x);
  const auto is_large = a > number<F>(0.5F);
  const F complement = inverse_trigonometric::half_complement(a);
  const F s = select(is_large, sqrt(complement), a);
  const F s2 = select(is_large, complement, a * a);
  const F tail = inverse_trigonometric::asin_tail(s, s2);
  const F large = inverse_trigonometric::from_half_pi(s + s, tail + tail);
  const F result = select(is_large, large, s + tail);
  return select(a <= number<F>(1.0F), with_sign(result, sign_bit(x)), nan<F>());
}

template <class F>
[[nodiscard]] constexpr F acos(F x) {
  const F a = magnitude(x);
  const auto is_large = a > number<F>(0.5F);
  const F complement = inverse_trigonometric::half_complement(a);
  const F s = select(is_large, sqrt(complement), x);
  const F s2 = select(is_large, complement, a * a);
  const F tail = inverse_trigonometric::asin_tail(s, s2);
  const F below = inverse_trigonometric::from_half_pi(s, tail);
  const F above = s + tail;
  const F half = select(x < number<F>(0.0F), below, above);
  return select(is_large, half + half, below);
}

template <class F>
[[nodiscard]] constexpr F atan(F x) {
  const F a = magnitude(x);
  const auto is_large = a > number<F>(1.0F);
  const F u = select(is_large, number<F>(1.0F) / a, a);
  const F u2 = u * u;
  // fpminimax(atan(x), [|3,5,7,9,11,13,15,17|], [|SG...|], [2^-12;1], x, relative), error 2^-25.8.
  const F tail = u * u2 *
                 polynomial(u2, -0x1.5554dcp-2F, 0x1.9978eep-3F, -0x1.230abp-3F, 0x1.b4dfdcp-4F,
                            -0x1.3553f4p-4F, 0x1.61f756p-5F, -0x1.0c23fep-6F, 0x1.7ec1c4p-9F);
  const F large = inverse_trigonometric::from_half_pi(u, tail);
  return with_sign(select(is_large, large, u + tail), sign_bit(x));
}

}  // namespace felsite::arithmetic::functions
