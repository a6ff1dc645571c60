// The host's value types for the function algorithms: thin wrappers over numbers.
//
// HostF32 computes with exact_float.h and defines the functions. PlainF32 uses the machine's plain
// addition, subtraction and multiplication. A test shows that both give the same bits for the
// algorithms, whose intermediate results never depend on the treatment of underflow; so a device
// may use its plain instructions there too.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "arithmetic/exact_float.h"
#include "arithmetic/value_traits.h"

namespace felsite::arithmetic::functions {

struct HostBool {
  bool value;
};

struct HostU32 {
  std::uint32_t value;

  friend constexpr HostU32 operator+(HostU32 a, HostU32 b) { return {a.value + b.value}; }
  friend constexpr HostU32 operator-(HostU32 a, HostU32 b) { return {a.value - b.value}; }
  friend constexpr HostU32 operator*(HostU32 a, HostU32 b) { return {a.value * b.value}; }
  friend constexpr HostU32 operator&(HostU32 a, HostU32 b) { return {a.value & b.value}; }
  friend constexpr HostU32 operator|(HostU32 a, HostU32 b) { return {a.value | b.value}; }
  friend constexpr HostU32 operator^(HostU32 a, HostU32 b) { return {a.value ^ b.value}; }
  friend constexpr HostU32 operator<<(HostU32 a, HostU32 b) { return {a.value << (b.value & 31U)}; }
  friend constexpr HostU32 operator>>(HostU32 a, HostU32 b) { return {a.value >> (b.value & 31U)}; }
  friend constexpr HostBool operator<(HostU32 a, HostU32 b) { return {a.value < b.value}; }
  friend constexpr HostBool operator==(HostU32 a, HostU32 b) { return {a.value == b.value}; }

  friend constexpr HostU32 mul_high(HostU32 a, HostU32 b) {
    return {static_cast<std::uint32_t>((std::uint64_t{a.value} * b.value) >> 32)};
  }
  // Uses the exponent of a conversion of at most 24 bits, which vector units have, unlike clz.
  friend constexpr HostU32 clz(HostU32 a) {
    const std::uint32_t upper = a.value >> 8;
    const bool has_upper = upper != 0;
    const std::uint32_t part = arithmetic::detail::pick_bits(has_upper, upper, a.value);
    const std::uint32_t exponent =
        float_bits(static_cast<float>(static_cast<std::int32_t>(part))) >> 23;
    const std::uint32_t zeros =
        arithmetic::detail::pick_bits(has_upper, 127U + 23U, 127U + 31U) - exponent;
    return {arithmetic::detail::pick_bits(a.value == 0, 32U, zeros)};
  }
  friend constexpr HostU32 select(HostBool condition, HostU32 a, HostU32 b) {
    return {arithmetic::detail::pick_bits(condition.value, a.value, b.value)};
  }
};

struct ExactArithmetic {
  static constexpr float add(float a, float b) { return exact_add(a, b); }
  static constexpr float sub(float a, float b) { return exact_sub(a, b); }
  static constexpr float mul(float a, float b) { return exact_mul(a, b); }
};

struct PlainArithmetic {
  static constexpr float add(float a, float b) { return a + b; }
  static constexpr float sub(float a, float b) { return a - b; }
  static constexpr float mul(float a, float b) { return a * b; }
};

template <class Arithmetic>
struct HostFloat {
  float value;

  friend constexpr HostFloat operator+(HostFloat a, HostFloat b) {
    return {Arithmetic::add(a.value, b.value)};
  }
  friend constexpr HostFloat operator-(HostFloat a, HostFloat b) {
    return {Arithmetic::sub(a.value, b.value)};
  }
  friend constexpr HostFloat operator*(HostFloat a, HostFloat b) {
    return {Arithmetic::mul(a.value, b.value)};
  }
  friend constexpr HostFloat operator/(HostFloat a, HostFloat b) {
    return {exact_div(a.value, b.value)};
  }
  friend constexpr HostFloat operator-(HostFloat a) { return {exact_negate(a.value)}; }
  friend HostFloat sqrt(HostFloat a) { return {exact_sqrt(a.value)}; }

  // Quiet comparisons: < and the like may trap on a NaN, which prevents vectorisation.
  friend HostBool operator<(HostFloat a, HostFloat b) { return {std::isless(a.value, b.value)}; }
  friend HostBool operator<=(HostFloat a, HostFloat b) {
    return {std::islessequal(a.value, b.value)};
  }
  friend HostBool operator>(HostFloat a, HostFloat b) { return {std::isgreater(a.value, b.value)}; }
  friend HostBool operator>=(HostFloat a, HostFloat b) {
    return {std::isgreaterequal(a.value, b.value)};
  }
  friend constexpr HostBool operator==(HostFloat a, HostFloat b) { return {a.value == b.value}; }

  friend constexpr HostFloat select(HostBool condition, HostFloat a, HostFloat b) {
    return {arithmetic::detail::pick(condition.value, a.value, b.value)};
  }
  friend constexpr HostU32 bits(HostFloat a) { return {float_bits(a.value)}; }
};

template <class Arithmetic>
struct ValueTraits<HostFloat<Arithmetic>> {
  using UInt = HostU32;
  using Bool = HostBool;

  static constexpr HostFloat<Arithmetic> number(float value) { return {value}; }
  static constexpr HostU32 word(std::uint32_t value) { return {value}; }
  static constexpr HostFloat<Arithmetic> from_bits(HostU32 bits) {
    return {float_from_bits<float>(bits.value)};
  }
  // Converts through i32, which vector units support: the operand is below 2^31.
  static constexpr HostFloat<Arithmetic> to_float(HostU32 value) {
    return {static_cast<float>(static_cast<std::int32_t>(value.value))};
  }
};

using HostF32 = HostFloat<ExactArithmetic>;
using PlainF32 = HostFloat<PlainArithmetic>;

}  // namespace felsite::arithmetic::functions
