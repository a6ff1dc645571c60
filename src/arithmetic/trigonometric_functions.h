// Sin, Cos and Tan, for f32, over the whole range.
//
// All polynomials come from Sollya's fpminimax, with coefficients in single precision (SG). The
// comment beside each states the command and the remaining error.
#pragma once

#include <cstdint>

#include "arithmetic/value_traits.h"

namespace felsite::arithmetic::functions {

namespace trigonometric {

// |x| = quadrant * pi/2 + (is_negative ? -1 : 1) * (high + low), modulo a whole turn.
template <class F>
struct Reduced {
  UIntOf<F> quadrant;       // 0 to 3
  UIntOf<F> negative_sign;  // a sign bit
  F high;                   // from 0 to slightly above pi/4
  F low;                    // below one unit of high's last place, never negative
};

// Three words of 2/pi, starting at the bit that the exponent selects.
template <class F>
struct Window {
  UIntOf<F> word0, word1, word2;
};

// 26 zeros, then the first 198 bits of 2/pi. The two upper bits of the position select the first
// word pair, each halving the choice.
template <class F>
[[nodiscard]] constexpr Window<F> two_over_pi_from(UIntOf<F> position) {
  const auto t0 = word<F>(0x0000'0028U);
  const auto t1 = word<F>(0xBE60'DB93U);
  const auto t2 = word<F>(0x9105'4A7FU);
  const auto t3 = word<F>(0x09D5'F47DU);
  const auto t4 = word<F>(0x4D37'7036U);
  const auto t5 = word<F>(0xD8A5'664FU);
  const auto t6 = word<F>(0x10E4'107FU);
  const auto below_64 = position < word<F>(64);
  const auto u0 = select(below_64, t0, t2);
  const auto u1 = select(below_64, t1, t3);
  const auto u2 = select(below_64, t2, t4);
  const auto u3 = select(below_64, t3, t5);
  const auto u4 = select(below_64, t4, t6);
  const auto word_aligned = (position & word<F>(32)) == word<F>(0);
  const auto v0 = select(word_aligned, u0, u1);
  const auto v1 = select(word_aligned, u1, u2);
  const auto v2 = select(word_aligned, u2, u3);
  const auto v3 = select(word_aligned, u3, u4);
  // The right shift is by 32 minus the left shift, in two steps, since a count of 32 would mean 0.
  const auto left = position & word<F>(31);
  const auto right = word<F>(31) - left;
  const auto one = word<F>(1);
  return {(v0 << left) | ((v1 >> one) >> right), (v1 << left) | ((v2 >> one) >> right),
          (v2 << left) | ((v3 >> one) >> right)};
}

// Payne and Hanek: x in quarter turns modulo 4, as the product of its significand with those bits
// of 2/pi that are neither whole turns nor below the precision. For |x| >= 0.5. No float is closer
// to a multiple of pi/2 than about 2^-30, so 62 bits after the point leave 32.
template <class F>
[[nodiscard]] constexpr Reduced<F> reduce_large(F a) {
  const auto exponent = (bits(a) >> word<F>(23)) - word<F>(126);  // 0 to 128
  // The greatest exponent is one too many for the window and is moved into the significand.
  const auto excess = exponent >> word<F>(7);
  const auto significand = ((bits(a) & word<F>(0x007F'FFFFU)) | word<F>(0x0080'0000U)) << excess;
  const auto window = two_over_pi_from<F>(exponent - excess);
  const auto product_low = significand * window.word1;
  const auto low = product_low + mul_high(significand, window.word2);
  const auto carry = select(low < product_low, word<F>(1), word<F>(0));
  const auto high = significand * window.word0 + mul_high(significand, window.word1) + carry;
  // Two bits of quarter turns and 62 bits of fraction: rounds to the nearest quarter turn and keeps
  // the rest as a magnitude. Its complement is off by one in the last of 62 bits, which is
  // negligible.
  const auto quadrant = (high + word<F>(0x2000'0000U)) >> word<F>(30);
  const auto rest = high - (quadrant << word<F>(30));
  const auto mask = word<F>(0) - (rest >> word<F>(31));
  const auto rest_high = rest ^ mask;
  const auto rest_low = low ^ mask;
  const auto zeros = clz(rest_high);
  const auto fraction = (rest_high << zeros) | ((rest_low >> word<F>(1)) >> (word<F>(31) - zeros));
  // Times pi/4, which has the 32 bits 0xC90FDAA2; the scale accounts for the other factors.
  const auto angle = mul_high(fraction, word<F>(0xC90F'DAA2U));
  const auto scale = (word<F>(98) - zeros) << word<F>(23);
  const F scale_high = from_bits<F>(scale + word<F>(8U << 23));
  // Split into two parts of at most 24 bits, so that both conversions are exact.
  const F angle_high = to_float<F>(angle >> word<F>(8)) * scale_high;
  const F angle_low = to_float<F>(angle & word<F>(0xFFU)) * from_bits<F>(scale);
  return {quadrant, mask & word<F>(0x8000'0000U), angle_high, angle_low};
}

template <class F>
[[nodiscard]] constexpr Reduced<F> reduce(F a) {
  const auto is_small = a < number<F>(0x1.921fb6p-1F);
  const auto large = reduce_large(a);
  return {select(is_small, word<F>(0), large.quadrant),
          select(is_small, word<F>(0), large.negative_sign), select(is_small, a, large.high),
          select(is_small, number<F>(0.0F), large.low)};
}

// The sine at `quadrant` quarter turns beyond the reduced angle. Sine and cosine share one
// polynomial whose coefficients are selected: base + base * z * p(z), with base 1 or the angle.
template <class F>
[[nodiscard]] constexpr F sine(F a, const Reduced<F>& angle, UIntOf<F> quadrant, UIntOf<F> sign) {
  const auto is_sine = (quadrant & word<F>(1)) == word<F>(0);
  const F r = angle.high;
  const F z = r * r;
  // fpminimax(sin(x), [|3,5,7,9|], [|SG...|], [2^-12;0.7855], x, relative), error 2^-32.2, and
  // fpminimax(cos(x), [|4,6,8|], [|SG...|], [2^-12;0.7855], 1-x^2/2, absolute), error 2^-33.1.
  const F c0 = select(is_sine, number<F>(-0x1.555556p-3F), number<F>(-0.5F));
  const F c1 = select(is_sine, number<F>(0x1.111164p-7F), number<F>(0x1.55554ap-5F));
  const F c2 = select(is_sine, number<F>(-0x1.a04866p-13F), number<F>(-0x1.6c0c3p-10F));
  const F c3 = select(is_sine, number<F>(0x1.77e1f8p-19F), number<F>(0x1.99ebaap-16F));
  const F base = select(is_sine, r, number<F>(1.0F));
  const F slope = select(is_sine, number<F>(1.0F), -r);
  const F tail = base * z * (((c3 * z + c2) * z + c1) * z + c0) + slope * angle.low;
  const F result = base + tail;
  const auto angle_sign = select(is_sine, angle.negative_sign, word<F>(0));
  const auto half_turn_sign = (quadrant & word<F>(2)) << word<F>(30);
  const F signed_result = from_bits<F>(bits(result) ^ sign ^ angle_sign ^ half_turn_sign);
  return select(a < infinity<F>(), signed_result, nan<F>());
}

}  // namespace trigonometric

template <class F>
[[nodiscard]] constexpr F sin(F x) {
  const F a = magnitude(x);
  const auto angle = trigonometric::reduce(a);
  return trigonometric::sine(a, angle, angle.quadrant, sign_bit(x));
}

template <class F>
[[nodiscard]] constexpr F cos(F x) {
  const F a = magnitude(x);
  const auto angle = trigonometric::reduce(a);
  return trigonometric::sine(a, angle, angle.quadrant + word<F>(1), word<F>(0));
}

// The tangent as high + low, so that it and its negative reciprocal have little more than one
// rounding: -1 / (high + low) is q + low q^2 with q = -1 / high.
template <class F>
[[nodiscard]] constexpr F tan(F x) {
  const F a = magnitude(x);
  const auto angle = trigonometric::reduce(a);
  const F r = angle.high;
  const F z = r * r;
  // fpminimax(tan(x), [|3,5,7,9,11,13,15|], [|SG...|], [2^-12;0.7855], x, relative), error 2^-29.5.
  const F tail = r * z *
                 polynomial(z, 0x1.55556p-2F, 0x1.110dap-3F, 0x1.bad946p-5F, 0x1.5cc664p-6F,
                            0x1.62ad1cp-7F, 0x1.af6e06p-14F, 0x1.1e6b6p-8F);
  const F high = r + tail;
  const F low = (tail - (high - r)) + angle.low * (number<F>(1.0F) + high * high);
  const F inverse = number<F>(-1.0F) / high;
  const auto is_even = (angle.quadrant & word<F>(1)) == word<F>(0);
  const F base = select(is_even, high, inverse);
  const F factor = select(is_even, number<F>(1.0F), inverse * inverse);
  const F result = base + low * factor;
  const F signed_result = from_bits<F>(bits(result) ^ sign_bit(x) ^ angle.negative_sign);
  return select(a < infinity<F>(), signed_result, nan<F>());
}

}  // namespace felsite::arithmetic::functions
