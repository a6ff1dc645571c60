// Conversions between f32, f64, f16, bf16 and the integers, each with one correct rounding.
//
// Included by exact_float.h, whose rules for canonical values and flushing also apply here. f16 and
// bf16 values are computed in f32: an "f16-valued float" is a float that f16 can represent. The
// subnormals of f16 are kept, since they are normal in f32; those of bf16 are also subnormal in f32
// and are flushed.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "arithmetic/exact_float.h"

namespace felsite::arithmetic {

inline constexpr std::uint16_t kF16Nan = 0x7E00;
inline constexpr std::uint16_t kBf16Nan = 0x7FC0;

[[nodiscard]] constexpr float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7FFFU;
  constexpr std::uint32_t kBiasDifference = 127 - 15;
  const std::uint32_t normal = (magnitude << 13) + (kBiasDifference << 23);
  // An integer times the least f16 subnormal, so no f32 subnormal appears in between.
  const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
  const std::uint32_t finite = magnitude < 0x0400U ? float_bits(small) : normal;
  const std::uint32_t bounded = magnitude >= 0x7C00U ? FloatFormat<float>::kInfinity : finite;
  const std::uint32_t result = magnitude > 0x7C00U ? FloatFormat<float>::kNan : (bounded | sign);
  return float_from_bits<float>(result);
}

[[nodiscard]] constexpr std::uint16_t f32_to_f16(float x) {
  const float value = canonical(x);
  const std::uint32_t bits = float_bits(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  // Near 0.5 one unit of f32 is the least f16 subnormal, so the addition does the rounding.
  const std::uint32_t small =
      float_bits(float_from_bits<float>(magnitude) + 0.5F) - float_bits(0.5F);
  const std::uint32_t odd = (magnitude >> 13) & 1U;
  constexpr std::uint32_t kBiasDifference = 127 - 15;
  const std::uint32_t normal = (magnitude + 0x0FFFU + odd - (kBiasDifference << 23)) >> 13;
  const std::uint32_t finite = magnitude < float_bits(0x1p-14F) ? small : normal;
  const std::uint32_t bounded = magnitude >= float_bits(65520.0F) ? 0x7C00U : finite;
  const std::uint32_t result =
      magnitude > FloatFormat<float>::kInfinity ? kF16Nan : (bounded | sign);
  return static_cast<std::uint16_t>(result);
}

[[nodiscard]] constexpr float bf16_to_f32(std::uint16_t half) {
  return canonical(float_from_bits<float>(static_cast<std::uint32_t>(half) << 16));
}

// A canonical float is zero or at least the least normal bf16, so nothing needs flushing after the
// rounding: a subnormal operand counts as zero before it.
[[nodiscard]] constexpr std::uint16_t f32_to_bf16(float x) {
  const std::uint32_t bits = float_bits(canonical(x));
  const std::uint32_t odd = (bits >> 16) & 1U;
  const std::uint32_t rounded = (bits + 0x7FFFU + odd) >> 16;
  const bool is_nan = bits == FloatFormat<float>::kNan;
  return static_cast<std::uint16_t>(is_nan ? kBf16Nan : rounded);
}

[[nodiscard]] constexpr float round_to_f16(float x) { return f16_to_f32(f32_to_f16(x)); }

[[nodiscard]] constexpr float round_to_bf16(float x) { return bf16_to_f32(f32_to_bf16(x)); }

[[nodiscard]] constexpr float round_to_f16(double x) {
  const double value = canonical(x);
  const double magnitude = exact_abs(value);
  // Near 2^28 one unit of f64 is the least f16 subnormal, so the addition does the rounding.
  const double small = (magnitude + 0x1p28) - 0x1p28;
  const double rounded = magnitude < 0x1p-14 ? small : round_significand<11>(magnitude);
  const double bounded = rounded >= 65536.0 ? std::numeric_limits<double>::infinity() : rounded;
  const float result = static_cast<float>(bounded);
  const std::uint32_t sign =
      static_cast<std::uint32_t>(float_bits(value) >> 32) & FloatFormat<float>::kSign;
  return with_canonical_nan(float_from_bits<float>(float_bits(result) | sign));
}

[[nodiscard]] constexpr float round_to_bf16(double x) {
  return detail::narrow_rounded(round_significand<8>(canonical(x)));
}

[[nodiscard]] constexpr double f32_to_f64(float x) {
  return with_canonical_nan(static_cast<double>(canonical(x)));
}

namespace detail {

// A double that rounds to at most 24 bits as the integer does: its 32 leading bits, the last of
// them odd if anything below was cut off.
template <std::integral Int>
[[nodiscard]] constexpr double integer_for_rounding(Int value) {
  const bool negative = value < 0;
  const auto wide = static_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = negative ? 0 - wide : wide;
  const int width = static_cast<int>(std::bit_width(magnitude));
  const int dropped = width > 32 ? width - 32 : 0;
  const std::uint64_t leading = magnitude >> dropped;
  const std::uint64_t cut = (leading << dropped) == magnitude ? 0 : 1;
  const double scale = static_cast<double>(std::uint64_t{1} << dropped);
  const double result = static_cast<double>(leading | cut) * scale;
  return negative ? -result : result;
}

}  // namespace detail

template <std::integral Int>
[[nodiscard]] constexpr float integer_to_f32(Int value) {
  return double_to_f32(detail::integer_for_rounding(value));
}

// The only conversion that relies on the hardware: IEEE 754 requires it to be correctly rounded.
template <std::integral Int>
[[nodiscard]] constexpr double integer_to_f64(Int value) {
  return static_cast<double>(value);
}

template <std::integral Int>
[[nodiscard]] constexpr float integer_to_f16(Int value) {
  return round_to_f16(detail::integer_for_rounding(value));
}

template <std::integral Int>
[[nodiscard]] constexpr float integer_to_bf16(Int value) {
  return round_to_bf16(detail::integer_for_rounding(value));
}

// Truncates and saturates; NaN gives 0. Both limits are powers of two (or zero), so exact in T.
template <std::integral Int, std::floating_point T>
[[nodiscard]] constexpr Int saturating_cast(T x) {
  using Limits = std::numeric_limits<Int>;
  constexpr T kHalfRange = static_cast<T>(std::uint64_t{1} << (Limits::digits - 1));
  constexpr T kAbove = kHalfRange * T{2};
  constexpr T kLowest = std::is_signed_v<Int> ? -kAbove : T{0};
  if (!(x == x)) return 0;
  if (x >= kAbove) return Limits::max();
  if (x <= kLowest) return Limits::min();
  return static_cast<Int>(x);
}

}  // namespace felsite::arithmetic
