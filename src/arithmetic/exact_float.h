// Float arithmetic with one result on every host: correctly rounded, flushed, and with one NaN.
//
// A value is canonical if it is not subnormal and, if it is a NaN, has the one NaN pattern. Every
// function here takes canonical operands and gives a canonical result. A result is flushed to the
// zero of its sign if, rounded to the type's precision with an unbounded exponent, it is below the
// least normal number. IEEE gradual underflow decides on the other side of that rounding, so
// products and quotients are also computed scaled up by a power of two, where the hardware cannot
// underflow, and the scaled result decides. This also makes the result independent of the host's
// flush-to-zero mode, and of whether it detects tininess before or after rounding.
//
// Compile with -ffp-contract=off. The loops over lane arrays must vectorise, so these functions use
// selects on bit patterns instead of branches.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

namespace felsite::arithmetic {

template <class T>
struct FloatFormat;

template <>
struct FloatFormat<float> {
  using Bits = std::uint32_t;
  using SignedBits = std::int32_t;
  static constexpr Bits kSign = 0x8000'0000U;
  static constexpr Bits kInfinity = 0x7F80'0000U;
  static constexpr Bits kNan = 0x7FC0'0000U;
  static constexpr Bits kLeastNormal = 0x0080'0000U;
  // Lifts a product or quotient near the least normal number well into the normal range.
  static constexpr float kScaleUp = 0x1p64F;
  static constexpr float kScaleDown = 0x1p-64F;
  static constexpr float kScaledLeastNormal = 0x1p-62F;
  static constexpr float kScaledComfortable = 0x1p-32F;
};

template <>
struct FloatFormat<double> {
  using Bits = std::uint64_t;
  using SignedBits = std::int64_t;
  static constexpr Bits kSign = 0x8000'0000'0000'0000U;
  static constexpr Bits kInfinity = 0x7FF0'0000'0000'0000U;
  static constexpr Bits kNan = 0x7FF8'0000'0000'0000U;
  static constexpr Bits kLeastNormal = 0x0010'0000'0000'0000U;
  static constexpr double kScaleUp = 0x1p512;
  static constexpr double kScaleDown = 0x1p-512;
  static constexpr double kScaledLeastNormal = 0x1p-510;
  static constexpr double kScaledComfortable = 0x1p-256;
};

template <std::floating_point T>
[[nodiscard]] constexpr typename FloatFormat<T>::Bits float_bits(T x) {
  return std::bit_cast<typename FloatFormat<T>::Bits>(x);
}

template <std::floating_point T>
[[nodiscard]] constexpr T float_from_bits(typename FloatFormat<T>::Bits bits) {
  return std::bit_cast<T>(bits);
}

template <std::floating_point T>
[[nodiscard]] constexpr T canonical_nan() {
  return float_from_bits<T>(FloatFormat<T>::kNan);
}

namespace detail {

// A select made of masks. With ?: the compiler turns chains of operations into branches, cannot
// undo them since float operations might trap, and does not vectorise loops with branches.
template <std::unsigned_integral Bits>
[[nodiscard]] constexpr Bits pick_bits(bool condition, Bits if_true, Bits if_false) {
  const Bits mask = static_cast<Bits>(0) - static_cast<Bits>(condition);
  return (if_true & mask) | (if_false & ~mask);
}

template <std::floating_point T>
[[nodiscard]] constexpr T pick(bool condition, T if_true, T if_false) {
  return float_from_bits<T>(pick_bits(condition, float_bits(if_true), float_bits(if_false)));
}

// A logical and without the branch of &&.
[[nodiscard]] constexpr bool both(bool a, bool b) {
  return (static_cast<unsigned>(a) & static_cast<unsigned>(b)) != 0;
}

// Whether |x| < bound, for a positive bound; false for a NaN. It uses integers, as above.
template <std::floating_point T>
[[nodiscard]] constexpr bool is_below(T x, T bound) {
  using Signed = typename FloatFormat<T>::SignedBits;
  const auto magnitude = static_cast<Signed>(float_bits(x) & ~FloatFormat<T>::kSign);
  return magnitude < static_cast<Signed>(float_bits(bound));
}

}  // namespace detail

// Works on the bit pattern alone, so a host that treats subnormal operands as zero cannot
// interfere. The comparisons are signed because vector units have no unsigned ones.
template <std::floating_point T>
[[nodiscard]] constexpr T canonical(T x) {
  using Format = FloatFormat<T>;
  using Signed = typename Format::SignedBits;
  const auto bits = float_bits(x);
  const auto sign = static_cast<typename Format::Bits>(bits & Format::kSign);
  const auto magnitude = static_cast<Signed>(bits ^ sign);
  const bool is_tiny = magnitude < static_cast<Signed>(Format::kLeastNormal);
  const bool is_nan = magnitude > static_cast<Signed>(Format::kInfinity);
  const auto flushed = detail::pick_bits(is_tiny, sign, bits);
  return float_from_bits<T>(detail::pick_bits(is_nan, Format::kNan, flushed));
}

template <std::floating_point T>
[[nodiscard]] constexpr bool is_canonical(T x) {
  return float_bits(x) == float_bits(canonical(x));
}

// For results that cannot be subnormal.
template <std::floating_point T>
[[nodiscard]] constexpr T with_canonical_nan(T x) {
  using Signed = typename FloatFormat<T>::SignedBits;
  const auto bits = float_bits(x);
  const auto magnitude = static_cast<Signed>(bits & ~FloatFormat<T>::kSign);
  const bool is_nan = magnitude > static_cast<Signed>(FloatFormat<T>::kInfinity);
  return float_from_bits<T>(detail::pick_bits(is_nan, FloatFormat<T>::kNan, bits));
}

template <std::floating_point T>
[[nodiscard]] constexpr T exact_abs(T x) {
  const auto magnitude =
      static_cast<typename FloatFormat<T>::Bits>(float_bits(x) & ~FloatFormat<T>::kSign);
  return float_from_bits<T>(magnitude);  // the canonical NaN has no sign bit to lose
}

template <std::floating_point T>
[[nodiscard]] constexpr T exact_negate(T x) {
  const auto flipped =
      static_cast<typename FloatFormat<T>::Bits>(float_bits(x) ^ FloatFormat<T>::kSign);
  return with_canonical_nan(float_from_bits<T>(flipped));
}

// A subnormal sum is exact, so flushing the hardware's result is enough.
template <std::floating_point T>
[[nodiscard]] constexpr T exact_add(T a, T b) {
  return canonical(a + b);
}

template <std::floating_point T>
[[nodiscard]] constexpr T exact_sub(T a, T b) {
  return canonical(a - b);
}

// Scaling one factor up is exact unless it overflows, and then the product is far from tiny: the
// scaled product is infinite, or NaN for a zero factor, and is not used. The scaled product decides
// about the flush, and, unscaled, is the result in the lower part of the range.
template <std::floating_point T>
[[nodiscard]] constexpr T exact_mul(T a, T b) {
  using Format = FloatFormat<T>;
  const T product = a * b;
  const T scaled = (a * Format::kScaleUp) * b;
  const bool near_underflow = detail::is_below(scaled, Format::kScaledComfortable);
  const T result = detail::pick(near_underflow, scaled * Format::kScaleDown, product);
  const auto sign = static_cast<typename Format::Bits>(float_bits(product) & Format::kSign);
  const bool tiny = detail::is_below(scaled, Format::kScaledLeastNormal);
  return with_canonical_nan(detail::pick(tiny, float_from_bits<T>(sign), result));
}

// Only a quotient with |a| < 4 and |b| > 1 can be tiny, and then the scaled one cannot overflow.
template <std::floating_point T>
[[nodiscard]] constexpr T exact_div(T a, T b) {
  using Format = FloatFormat<T>;
  const bool scale = detail::both(detail::is_below(a, T{4}), !detail::is_below(b, T{1}));
  const T quotient = (a * detail::pick(scale, Format::kScaleUp, T{1})) / b;
  const T result = quotient * detail::pick(scale, Format::kScaleDown, T{1});
  const auto sign = static_cast<typename Format::Bits>(float_bits(quotient) & Format::kSign);
  const bool tiny = detail::both(scale, detail::is_below(quotient, Format::kScaledLeastNormal));
  return with_canonical_nan(detail::pick(tiny, float_from_bits<T>(sign), result));
}

// The square root of a canonical number is never subnormal.
template <std::floating_point T>
[[nodiscard]] inline T exact_sqrt(T x) {
  return with_canonical_nan(std::sqrt(x));
}

template <std::floating_point T>
[[nodiscard]] constexpr T exact_reciprocal(T x) {
  return exact_div(T{1}, x);
}

template <std::floating_point T>
[[nodiscard]] inline T exact_inverse_sqrt(T x) {
  return exact_div(T{1}, exact_sqrt(x));
}

// Rounds a canonical double once, to `Precision` bits with an unbounded exponent. The carry out of
// the significand runs into the exponent, as it should; infinity has no fraction and stays.
template <int Precision>
[[nodiscard]] constexpr double round_significand(double x) {
  static_assert(Precision > 1 && Precision < 53);
  constexpr int kDropped = 53 - Precision;
  constexpr std::uint64_t kBelowHalf = (std::uint64_t{1} << (kDropped - 1)) - 1;
  constexpr std::uint64_t kKept = ~((std::uint64_t{1} << kDropped) - 1);
  const std::uint64_t bits = float_bits(x);
  const std::uint64_t odd = (bits >> kDropped) & 1U;
  const double rounded = float_from_bits<double>((bits + kBelowHalf + odd) & kKept);
  return x == x ? rounded : x;
}

namespace detail {

// For a double that fits f32 except for its range: overflows to infinity and flushes subnormals.
[[nodiscard]] constexpr float narrow_rounded(double rounded) {
  const double magnitude = exact_abs(rounded);
  const double signed_zero =
      float_from_bits<double>(float_bits(rounded) & FloatFormat<double>::kSign);
  const double flushed = magnitude < 0x1p-126 ? signed_zero : rounded;
  return with_canonical_nan(static_cast<float>(flushed));
}

}  // namespace detail

[[nodiscard]] constexpr float double_to_f32(double x) {
  return detail::narrow_rounded(round_significand<24>(canonical(x)));
}

// The product is exact in double. The sum is rounded to odd: its last bit records that something
// was cut off, and 53 bits leave enough room for the single rounding to 24.
[[nodiscard]] constexpr float exact_fma(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = static_cast<double>(c);
  const double sum = product + addend;
  const double addend_part = sum - product;
  const double product_part = sum - addend_part;
  const double error = (product - product_part) + (addend - addend_part);
  const std::uint64_t bits = float_bits(sum);
  const bool even = (bits & 1U) == 0;
  // Moves towards the error: one unit up or down in magnitude makes an even last bit odd. An
  // infinite or NaN sum has a NaN error, which compares false.
  const bool adjust = (error < 0 || error > 0) && even;
  const bool grows = (error < 0) == (sum < 0);
  const std::uint64_t odd_bits = grows ? bits + 1 : bits - 1;
  return double_to_f32(float_from_bits<double>(adjust ? odd_bits : bits));
}

// A result can be tiny only if the addend and the product both are: cancellation of larger ones
// leaves at least 2^-106 of them. Then the smaller factor can be scaled without overflow.
[[nodiscard]] inline double exact_fma(double a, double b, double c) {
  const double product_size = exact_abs(a * b);
  const bool scale = exact_abs(c) < 0x1p-800 && product_size < 0x1p-800;
  if (!scale) return with_canonical_nan(std::fma(a, b, c));
  const bool a_is_larger = exact_abs(a) > exact_abs(b);
  const double larger = a_is_larger ? a : b;
  const double smaller = a_is_larger ? b : a;
  using Format = FloatFormat<double>;
  const double scaled = std::fma(larger, smaller * Format::kScaleUp, c * Format::kScaleUp);
  const bool tiny = detail::is_below(scaled, Format::kScaledLeastNormal);
  const double zero = std::copysign(0.0, scaled);
  return tiny ? zero : scaled * Format::kScaleDown;
}

// Among equal values only zeros can differ in bits: Min combines the signs with or, Max with and.
template <std::floating_point T>
[[nodiscard]] constexpr T exact_min(T a, T b) {
  using Bits = typename FloatFormat<T>::Bits;
  const T both = float_from_bits<T>(static_cast<Bits>(float_bits(a) | float_bits(b)));
  const T lesser = a < b ? a : b;
  const T ordered = a == b ? both : lesser;
  return b == b ? ordered : a;
}

template <std::floating_point T>
[[nodiscard]] constexpr T exact_max(T a, T b) {
  using Bits = typename FloatFormat<T>::Bits;
  const T both = float_from_bits<T>(static_cast<Bits>(float_bits(a) & float_bits(b)));
  const T greater = a > b ? a : b;
  const T ordered = a == b ? both : greater;
  return b == b ? ordered : a;
}

// Zero results keep the sign of the operand, as in C: ceil(-0.5) is -0.
template <std::floating_point T>
[[nodiscard]] inline T exact_floor(T x) {
  return with_canonical_nan(std::floor(x));
}

template <std::floating_point T>
[[nodiscard]] inline T exact_ceil(T x) {
  return with_canonical_nan(std::ceil(x));
}

template <std::floating_point T>
[[nodiscard]] inline T exact_trunc(T x) {
  return with_canonical_nan(std::trunc(x));
}

// Rounds half away from zero.
template <std::floating_point T>
[[nodiscard]] inline T exact_round(T x) {
  return with_canonical_nan(std::round(x));
}

template <std::floating_point T>
[[nodiscard]] constexpr T exact_sign(T x) {
  const T positive = x > T{0} ? T{1} : T{0};
  const T result = x < T{0} ? T{-1} : positive;
  return x == x ? result : canonical_nan<T>();
}

}  // namespace felsite::arithmetic

#include "arithmetic/float_conversion.h"  // IWYU pragma: export
