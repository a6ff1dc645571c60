// What a value type must provide to instantiate the function algorithms with it.
//
// The reference instantiates them with host numbers (host_value.h), and a code generator with
// handles to the values that it emits, so a device evaluates the same operations and gives the same
// bits. An intermediate result is used many times, so a handle must stand for an emitted value, not
// for an expression tree that each use would repeat.
//
// For a float type F with UInt (u32) and Bool:
//   F + - * /, -F, sqrt(F)                  exact, as exact_float.h has them; there is no fma
//   F < <= > >=, ==, U <, U ==              Bool; false for a NaN operand
//   select(Bool, F, F), select(Bool, U, U)
//   bits(F)                                 U
//   U + - * & | ^ << >>                     wrapping; shift counts masked to five bits; >> logical
//   mul_high(U, U), clz(U)                  upper half of the product; clz(0) is 32
// and ValueTraits<F> with the types and the functions whose result type must be named.
#pragma once

#include <cstdint>

namespace felsite::arithmetic::functions {

template <class F>
struct ValueTraits;  // UInt, Bool; number(float), word(uint32_t), from_bits(UInt), to_float(UInt)

template <class F>
using UIntOf = typename ValueTraits<F>::UInt;

template <class F>
using BoolOf = typename ValueTraits<F>::Bool;

template <class F>
[[nodiscard]] constexpr F number(float value) {
  return ValueTraits<F>::number(value);
}

template <class F>
[[nodiscard]] constexpr UIntOf<F> word(std::uint32_t value) {
  return ValueTraits<F>::word(value);
}

template <class F>
[[nodiscard]] constexpr F from_bits(UIntOf<F> value) {
  return ValueTraits<F>::from_bits(value);
}

// Only applied to integers of at most 24 significant bits, so nothing is rounded.
template <class F>
[[nodiscard]] constexpr F to_float(UIntOf<F> value) {
  return ValueTraits<F>::to_float(value);
}

template <class F>
[[nodiscard]] constexpr F infinity() {
  return from_bits<F>(word<F>(0x7F80'0000U));
}

template <class F>
[[nodiscard]] constexpr F nan() {
  return from_bits<F>(word<F>(0x7FC0'0000U));
}

template <class F>
[[nodiscard]] constexpr UIntOf<F> sign_bit(F x) {
  return bits(x) & word<F>(0x8000'0000U);
}

template <class F>
[[nodiscard]] constexpr F magnitude(F x) {
  return from_bits<F>(bits(x) & word<F>(0x7FFF'FFFFU));
}

// A NaN must stay unchanged: the sign of a canonical NaN is clear, so or-ing that sign in changes
// nothing.
template <class F>
[[nodiscard]] constexpr F with_sign(F unsigned_value, UIntOf<F> sign) {
  return from_bits<F>(bits(unsigned_value) | sign);
}

// Horner's rule, with coefficients from the constant term upwards.
template <class F>
[[nodiscard]] constexpr F polynomial(F, float constant) {
  return number<F>(constant);
}

template <class F, class... Rest>
[[nodiscard]] constexpr F polynomial(F x, float constant, float next, Rest... rest) {
  return polynomial(x, next, rest...) * x + number<F>(constant);
}

}  // namespace felsite::arithmetic::functions
