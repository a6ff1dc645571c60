// Value handles in the form that the function algorithms expect (arithmetic/value_traits.h).
//
// The algorithms name constants without saying where: such a handle has no emitter until it
// is combined with one that has. Additions, subtractions and multiplications are the device's bare
// ones, since the results do not depend on how an underflow on the way is treated; a test of the
// reference says so.
#pragma once

#include <bit>
#include <cstdint>

#include "arithmetic/value_traits.h"
#include "codegen/values/emitter.h"
#include "codegen/values/exact_arithmetic.h"
#include "codegen/values/float_layout.h"
#include "codegen/values/values.h"

namespace felsite::codegen {

struct FunctionWord {
  Word word;

  Emitter* emitter() const { return word.emitter; }
  Word in(Emitter* e) const { return word.emitter == nullptr ? e->word(word.constant) : word; }
};

struct FunctionFloat {
  Float handle;  // without an emitter: the constant
  float constant = 0;

  Emitter* emitter() const { return handle.emitter; }
  Float in(Emitter* e) const { return handle.emitter == nullptr ? e->number(constant) : handle; }
};

template <class A, class B>
Emitter* emitter_of(A a, B b) {
  return a.emitter() == nullptr ? b.emitter() : a.emitter();
}

// Applies the operation to both operands, in the emitter that one of them has.
template <class A, class Operation>
auto combined(A a, A b, Operation operation) {
  Emitter* const e = emitter_of(a, b);
  return operation(a.in(e), b.in(e));
}

inline FunctionWord operator+(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x + y; })};
}
inline FunctionWord operator-(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x - y; })};
}
inline FunctionWord operator*(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x * y; })};
}
inline FunctionWord operator&(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x & y; })};
}
inline FunctionWord operator|(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x | y; })};
}
inline FunctionWord operator^(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x ^ y; })};
}
inline FunctionWord operator<<(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x << (y & 31U); })};
}
inline FunctionWord operator>>(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return x >> (y & 31U); })};
}
inline FunctionWord mul_high(FunctionWord a, FunctionWord b) {
  return {combined(a, b, [](Word x, Word y) { return mul_high(x, y); })};
}
inline FunctionWord clz(FunctionWord a) { return {clz(a.word)}; }
inline Flag operator<(FunctionWord a, FunctionWord b) {
  return combined(a, b, [](Word x, Word y) { return x < y; });
}
inline Flag operator==(FunctionWord a, FunctionWord b) {
  return combined(a, b, [](Word x, Word y) { return x == y; });
}
inline FunctionWord select(Flag condition, FunctionWord a, FunctionWord b) {
  return {select(condition, a.in(condition.emitter), b.in(condition.emitter))};
}

inline FunctionFloat operator+(FunctionFloat a, FunctionFloat b) {
  return {combined(a, b, [](Float x, Float y) { return x + y; })};
}
inline FunctionFloat operator-(FunctionFloat a, FunctionFloat b) {
  return {combined(a, b, [](Float x, Float y) { return x - y; })};
}
inline FunctionFloat operator*(FunctionFloat a, FunctionFloat b) {
  return {combined(a, b, [](Float x, Float y) { return x * y; })};
}
inline FunctionFloat operator/(FunctionFloat a, FunctionFloat b) {
  return {combined(a, b, [](Float x, Float y) { return exact_div(x, y); })};
}
inline FunctionFloat operator-(FunctionFloat a) {
  if (a.emitter() == nullptr) return {{}, -a.constant};
  return {exact_negate(a.handle)};
}
inline FunctionFloat sqrt(FunctionFloat a) { return {exact_sqrt(a.handle)}; }
inline Flag operator<(FunctionFloat a, FunctionFloat b) {
  return combined(a, b, [](Float x, Float y) { return x < y; });
}
inline Flag operator<=(FunctionFloat a, FunctionFloat b) {
  return combined(a, b, [](Float x, Float y) { return x <= y; });
}
inline Flag operator>(FunctionFloat a, FunctionFloat b) { return b < a; }
inline Flag operator>=(FunctionFloat a, FunctionFloat b) { return b <= a; }
inline Flag operator==(FunctionFloat a, FunctionFloat b) {
  return combined(a, b, [](Float x, Float y) { return x == y; });
}
inline FunctionFloat select(Flag condition, FunctionFloat a, FunctionFloat b) {
  return {select(condition, a.in(condition.emitter), b.in(condition.emitter))};
}
inline FunctionWord bits(FunctionFloat a) { return {bits(a.handle)}; }

}  // namespace felsite::codegen

namespace felsite::arithmetic::functions {

template <>
struct ValueTraits<codegen::FunctionFloat> {
  using UInt = codegen::FunctionWord;
  using Bool = codegen::Flag;

  static codegen::FunctionFloat number(float value) { return {{}, value}; }
  static codegen::FunctionWord word(std::uint32_t value) { return {{nullptr, 0, value}}; }
  static codegen::FunctionFloat from_bits(codegen::FunctionWord all) {
    if (all.emitter() == nullptr) return number(std::bit_cast<float>(all.word.constant));
    return {codegen::float_from_bits(all.word)};
  }
  static codegen::FunctionFloat to_float(codegen::FunctionWord value) {
    codegen::Emitter& e = *value.emitter();
    return {e.as_float(e.function().float_from_unsigned(e.type_float(), {value.word.id()}))};
  }
};

}  // namespace felsite::arithmetic::functions
