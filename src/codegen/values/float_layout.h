// How f32 and f64 are laid out in bits, for algorithms written once for both: the bits of a Float
// are a Word, those of a Double a Wide.
#pragma once

#include <cstdint>

#include "codegen/values/emitter.h"
#include "codegen/values/values.h"

namespace felsite::codegen {

template <class F>
struct FloatLayout;

template <>
struct FloatLayout<Float> {
  using Bits = Word;
  using Number = float;
  using Raw = std::uint32_t;
  static constexpr ir::Type kType = ir::Type::F32;
  static constexpr std::uint32_t kWidth = 32;
  static constexpr std::uint32_t kFractionBits = 23;
  static constexpr std::uint32_t kBias = 127;
  static constexpr std::uint32_t kSpecialExponent = 255;
  static constexpr Raw kSign = 0x8000'0000U;
  static constexpr Raw kMagnitude = 0x7FFF'FFFFU;
  static constexpr Raw kInfinity = 0x7F80'0000U;
  static constexpr Raw kNan = 0x7FC0'0000U;
  static constexpr Raw kLeastNormal = 0x0080'0000U;  // also the implicit bit of a significand
  static constexpr Raw kOne = 0x3F80'0000U;
  // Lifts a product near the least normal number well into the normal range.
  static constexpr float kScaleUp = 0x1p64F;
  static constexpr Raw kScaledLeastNormal = (kBias - 62U) << 23;

  static Word constant(Emitter& e, Raw value) { return e.word(value); }
  // An exponent in its place.
  static Word exponent_bits(Word exponent) { return exponent << kFractionBits; }
  static Word exponent_of(Word all) { return (all >> kFractionBits) & kSpecialExponent; }
};

template <>
struct FloatLayout<Double> {
  using Bits = Wide;
  using Number = double;
  using Raw = std::uint64_t;
  static constexpr ir::Type kType = ir::Type::F64;
  static constexpr std::uint32_t kWidth = 64;
  static constexpr std::uint32_t kFractionBits = 52;
  static constexpr std::uint32_t kBias = 1023;
  static constexpr std::uint32_t kSpecialExponent = 2047;
  static constexpr Raw kSign = 0x8000'0000'0000'0000U;
  static constexpr Raw kMagnitude = 0x7FFF'FFFF'FFFF'FFFFU;
  static constexpr Raw kInfinity = 0x7FF0'0000'0000'0000U;
  static constexpr Raw kNan = 0x7FF8'0000'0000'0000U;
  static constexpr Raw kLeastNormal = 0x0010'0000'0000'0000U;
  static constexpr Raw kOne = 0x3FF0'0000'0000'0000U;
  static constexpr double kScaleUp = 0x1p512;
  static constexpr Raw kScaledLeastNormal = Raw{kBias - 510U} << 52;

  static Wide constant(Emitter& e, Raw value) { return e.wide(value); }
  static Wide exponent_bits(Word exponent) {
    return wide(exponent.emitter->word(0), exponent << (kFractionBits - 32));
  }
  static Word exponent_of(Wide all) {
    return (high_word(all) >> (kFractionBits - 32)) & kSpecialExponent;
  }
};

inline Float from_bits(Word all) { return float_from_bits(all); }
inline Double from_bits(Wide all) { return double_from_bits(all); }

template <class F>
using BitsOf = typename FloatLayout<F>::Bits;

template <class F>
BitsOf<F> magnitude_bits(F x) {
  return bits(x) & FloatLayout<F>::kMagnitude;
}

template <class F>
BitsOf<F> sign_bit(F x) {
  return bits(x) & FloatLayout<F>::kSign;
}

// On the bits, which no assumption of a driver about NaNs can touch.
template <class F>
Flag is_nan(F x) {
  return magnitude_bits(x) >= FloatLayout<F>::kInfinity + 1;
}

inline Id type_of(Float x) { return x.emitter->type_float(); }
inline Id type_of(Double x) { return x.emitter->type_double(); }

template <class F, class... More>
F through_glsl(GLSLstd450 instruction, F x, More... more) {
  return {x.emitter, x.emitter->glsl(instruction, type_of(x), {x.id, more.id...})};
}

}  // namespace felsite::codegen
