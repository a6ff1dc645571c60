#include "felsite/literal.h"

#include <bit>
#include <cmath>
#include <limits>

namespace felsite::ir {
namespace {

struct FloatFormat {
  int mantissa_bits;  // stored bits, without the implied one
  int exponent_bits;
  bool keeps_subnormals;  // f16 computes in f32, where its subnormals are ordinary numbers
};

FloatFormat format_of(Type type) {
  if (type == Type::F16) return {10, 5, true};
  if (type == Type::BF16) return {7, 8, false};
  if (type == Type::F32) return {23, 8, false};
  return {52, 11, false};
}

std::uint64_t ones(int count) { return (std::uint64_t{1} << count) - 1; }

}  // namespace

std::uint64_t canonical_bits(Type type, std::uint64_t bits) {
  const TypeInfo& row = info(type);
  if (row.kind == TypeClass::Bool) return (bits & 0xFFFF'FFFFu) != 0 ? 1 : 0;
  if (row.bytes < 8) bits &= ones(row.bytes * 8);
  if (row.kind != TypeClass::Float) return bits;
  const FloatFormat format = format_of(type);
  const std::uint64_t mantissa = bits & ones(format.mantissa_bits);
  const std::uint64_t exponent = (bits >> format.mantissa_bits) & ones(format.exponent_bits);
  if (exponent == ones(format.exponent_bits) && mantissa != 0) {
    return (ones(format.exponent_bits) << format.mantissa_bits) |
           (std::uint64_t{1} << (format.mantissa_bits - 1));
  }
  if (exponent == 0 && !format.keeps_subnormals) return bits & ~ones(format.mantissa_bits);
  return bits;
}

Literal float_literal(Type type, double value) {
  if (type == Type::F64) {
    return {type, canonical_bits(type, std::bit_cast<std::uint64_t>(value))};
  }
  const FloatFormat format = format_of(type);
  const int bias = static_cast<int>(ones(format.exponent_bits - 1));
  const std::uint64_t infinity = ones(format.exponent_bits) << format.mantissa_bits;
  const std::uint64_t sign =
      std::signbit(value) ? std::uint64_t{1} << (format.mantissa_bits + format.exponent_bits) : 0;
  if (std::isnan(value)) return {type, canonical_bits(type, infinity | 1)};
  if (value == 0) return {type, sign};
  if (std::isinf(value)) return {type, sign | infinity};

  const int least = 1 - bias;
  int exponent = std::ilogb(value);
  if (format.keeps_subnormals && exponent < least) exponent = least;
  // Scaled so that one step of the format at this exponent is 1; nearbyint rounds ties to even.
  const double steps =
      std::nearbyint(std::ldexp(std::fabs(value), format.mantissa_bits - exponent));
  const double rounded = std::ldexp(steps, exponent - format.mantissa_bits);
  const double smallest = std::ldexp(1.0, least);
  if (rounded < smallest) {
    if (!format.keeps_subnormals) return {type, sign};
    return {type, sign | static_cast<std::uint64_t>(steps)};
  }
  const int final_exponent = std::ilogb(rounded);
  if (final_exponent > bias) return {type, sign | infinity};
  const double fraction = std::ldexp(rounded, format.mantissa_bits - final_exponent);
  const auto mantissa = static_cast<std::uint64_t>(fraction) & ones(format.mantissa_bits);
  const auto biased = static_cast<std::uint64_t>(final_exponent + bias);
  return {type, sign | (biased << format.mantissa_bits) | mantissa};
}

double float_value(Literal literal) {
  const std::uint64_t bits = canonical_bits(literal.type, literal.bits);
  if (literal.type == Type::F64) return std::bit_cast<double>(bits);
  if (literal.type == Type::F32) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (literal.type == Type::BF16) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
  }
  const auto mantissa = static_cast<double>(bits & 0x3FF);
  const int exponent = static_cast<int>((bits >> 10) & 0x1F);
  double value =
      exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(mantissa + 1024, exponent - 25);
  if (exponent == 31) {
    value = mantissa == 0 ? std::numeric_limits<double>::infinity()
                          : std::numeric_limits<double>::quiet_NaN();
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

}  // namespace felsite::ir
