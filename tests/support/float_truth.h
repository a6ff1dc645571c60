// What a float operation or conversion should give, from one rounding written out by hand on a
// wider host type. Knows nothing of the code under test.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "felsite/types.h"

namespace felsite::truth {

using ir::Type;

struct Format {
  int precision;       // bits of the significand, the hidden one included
  int least_exponent;  // of the least normal number
  int top_exponent;    // the least power of two that is too large
  bool keeps_subnormals;
};

inline Format format_of(Type type) {
  if (type == Type::F16) return {11, -14, 16, true};
  if (type == Type::BF16) return {8, -126, 128, false};
  if (type == Type::F32) return {24, -126, 128, false};
  return {53, -1022, 1024, false};
}

// Rounds to the type: nearest, ties to even, unbounded below; then range and flush.
inline long double rounded(long double x, Type type) {
  const Format format = format_of(type);
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  int exponent = 0;
  std::frexp(x, &exponent);  // |x| in [2^(exponent-1), 2^exponent)
  int quantum = exponent - format.precision;
  const int least_quantum = format.least_exponent - format.precision + 1;
  if (format.keeps_subnormals && quantum < least_quantum) quantum = least_quantum;
  const long double result = std::ldexp(std::nearbyint(std::ldexp(x, -quantum)), quantum);
  if (std::fabs(result) >= std::ldexp(1.0L, format.top_exponent)) {
    return std::copysign(std::numeric_limits<long double>::infinity(), x);
  }
  if (!format.keeps_subnormals && std::fabs(result) < std::ldexp(1.0L, format.least_exponent)) {
    return std::copysign(0.0L, x);
  }
  return result;
}

// The element bits of a value that the type can hold.
inline std::uint64_t encoded(long double x, Type type) {
  if (type == Type::F64) {
    return std::isnan(x) ? 0x7FF8'0000'0000'0000u
                         : std::bit_cast<std::uint64_t>(static_cast<double>(x));
  }
  if (type == Type::F32) {
    return std::isnan(x) ? 0x7FC0'0000u : std::bit_cast<std::uint32_t>(static_cast<float>(x));
  }
  if (type == Type::BF16) {
    return std::isnan(x) ? 0x7FC0u : std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16;
  }
  if (std::isnan(x)) return 0x7E00;
  const std::uint64_t sign = std::signbit(x) ? 0x8000 : 0;
  const long double magnitude = std::fabs(x);
  if (std::isinf(x)) return sign | 0x7C00;
  if (magnitude < 0x1p-14L) return sign | static_cast<std::uint64_t>(magnitude * 0x1p24L);
  int exponent = 0;
  const long double fraction = std::frexp(magnitude, &exponent);  // [0.5, 1)
  const auto significand = static_cast<std::uint64_t>(fraction * 2048);
  return sign | (static_cast<std::uint64_t>(exponent + 14) << 10) | (significand & 1023);
}

// The value of element bits, canonical: subnormals as the type treats them.
inline long double decoded(std::uint64_t bits, Type type) {
  long double value = 0;
  if (type == Type::F64) value = std::bit_cast<double>(bits);
  if (type == Type::F32) value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == Type::BF16) value = std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
  if (type == Type::F16) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const auto fraction = static_cast<long double>(bits & 1023);
    if (exponent == 31) {
      value = fraction == 0 ? std::numeric_limits<long double>::infinity()
                            : std::numeric_limits<long double>::quiet_NaN();
    } else {
      value = exponent == 0 ? fraction * 0x1p-24L : std::ldexp(1024 + fraction, exponent - 25);
    }
    if ((bits & 0x8000) != 0) value = -value;
  }
  return rounded(value, type);
}

inline std::uint64_t canonical(std::uint64_t bits, Type type) {
  return encoded(decoded(bits, type), type);
}

__extension__ using Wide = __int128;

inline unsigned width_of(Type type) { return type == Type::Bool ? 1u : ir::info(type).bytes * 8u; }
inline std::uint64_t mask_of(Type type) { return ~std::uint64_t{0} >> (64 - width_of(type)); }
inline bool is_signed(Type type) { return ir::info(type).kind == ir::TypeClass::Signed; }

// Every value of every type is exact in a long double.
inline long double value_of(Type type, std::uint64_t bits) {
  if (ir::is_float(type)) return decoded(bits, type);
  if (!is_signed(type)) return static_cast<long double>(bits);
  const unsigned shift = 64 - width_of(type);
  return static_cast<long double>(static_cast<std::int64_t>(bits << shift) >> shift);
}

// The element bits of a cast, as the contract has it.
inline std::uint64_t cast(Type from, Type to, std::uint64_t bits) {
  const long double value = value_of(from, bits);
  if (to == Type::Bool) return std::isnan(value) || value != 0;
  if (ir::is_float(to)) return encoded(rounded(value, to), to);
  if (!ir::is_float(from))
    return static_cast<std::uint64_t>(static_cast<Wide>(value)) & mask_of(to);
  if (std::isnan(value)) return 0;
  const unsigned digits = width_of(to) - (is_signed(to) ? 1 : 0);
  const long double highest = std::ldexp(1.0L, static_cast<int>(digits)) - 1;
  const long double lowest = is_signed(to) ? -highest - 1 : 0;
  const long double whole = std::trunc(value);
  const long double kept = whole > highest ? highest : whole < lowest ? lowest : whole;
  return static_cast<std::uint64_t>(static_cast<Wide>(kept)) & mask_of(to);
}

}  // namespace felsite::truth
