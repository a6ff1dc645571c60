// Handles to values that a kernel computes. An operator on them emits the instruction, so that an
// algorithm over them reads like arithmetic, and means the code that does it on the device.
#pragma once

#include <cstdint>
#include <optional>

#include "codegen/spirv/spirv_words.h"

namespace felsite::codegen {

class Emitter;

struct Flag {  // a truth value
  enum class Known : std::uint8_t { No, False, True };
  Emitter* emitter = nullptr;
  Id id = 0;
  Known known = Known::No;  // of a constant: a selection by it is not emitted
};

// 32 bits; signedness is in the operations. A constant is declared only once something needs its
// id: operations on constants alone leave nothing in the module.
struct Word {
  Emitter* emitter = nullptr;
  Id emitted = 0;
  std::uint32_t constant = 0;

  bool is_constant() const { return emitted == 0; }
  bool is(std::uint32_t value) const { return is_constant() && constant == value; }
  Id id() const;
};

// 64 bits: one native value, or a pair of words where the device has no such integers.
struct Wide {
  Emitter* emitter = nullptr;
  Id native = 0;
  Word low;
  Word high;
  std::optional<std::uint64_t> constant{};  // of a native one, if it is known
  bool is_pair() const { return native == 0; }
};

struct Float {  // f32, and the narrow floats while they are computed with
  Emitter* emitter = nullptr;
  Id id = 0;
};

struct Double {
  Emitter* emitter = nullptr;
  Id id = 0;
};

Flag operator!(Flag a);
Flag operator&&(Flag a, Flag b);  // both sides are there already: nothing is skipped
Flag operator||(Flag a, Flag b);
Flag operator!=(Flag a, Flag b);
Flag operator==(Flag a, Flag b);

// Wrapping; shift counts must be below the width; >> fills with zeros; < and the like are unsigned.
Word operator+(Word a, Word b);
Word operator-(Word a, Word b);
Word operator*(Word a, Word b);
Word operator&(Word a, Word b);
Word operator|(Word a, Word b);
Word operator^(Word a, Word b);
Word operator<<(Word a, Word count);
Word operator>>(Word a, Word count);
Word operator~(Word a);
Flag operator==(Word a, Word b);
Flag operator!=(Word a, Word b);
Flag operator<(Word a, Word b);
Flag operator<=(Word a, Word b);
Flag operator>(Word a, Word b);
Flag operator>=(Word a, Word b);
inline Word constant_word(Word beside, std::uint32_t value) { return {beside.emitter, 0, value}; }
inline Word operator+(Word a, std::uint32_t b) { return a + constant_word(a, b); }
inline Word operator-(Word a, std::uint32_t b) { return a - constant_word(a, b); }
inline Word operator-(std::uint32_t a, Word b) { return constant_word(b, a) - b; }
inline Word operator*(Word a, std::uint32_t b) { return a * constant_word(a, b); }
inline Word operator&(Word a, std::uint32_t b) { return a & constant_word(a, b); }
inline Word operator|(Word a, std::uint32_t b) { return a | constant_word(a, b); }
inline Word operator^(Word a, std::uint32_t b) { return a ^ constant_word(a, b); }
inline Word operator<<(Word a, std::uint32_t count) { return a << constant_word(a, count); }
inline Word operator>>(Word a, std::uint32_t count) { return a >> constant_word(a, count); }
inline Flag operator==(Word a, std::uint32_t b) { return a == constant_word(a, b); }
inline Flag operator!=(Word a, std::uint32_t b) { return a != constant_word(a, b); }
inline Flag operator<(Word a, std::uint32_t b) { return a < constant_word(a, b); }
inline Flag operator<=(Word a, std::uint32_t b) { return a <= constant_word(a, b); }
inline Flag operator>(Word a, std::uint32_t b) { return a > constant_word(a, b); }
inline Flag operator>=(Word a, std::uint32_t b) { return a >= constant_word(a, b); }

Flag signed_less(Word a, Word b);
Word signed_shift_right(Word a, Word count);
inline Word signed_shift_right(Word a, std::uint32_t count) {
  return signed_shift_right(a, constant_word(a, count));
}
Word mul_high(Word a, Word b);
Word clz(Word a);
Word ctz(Word a);
Word popcount(Word a);
Word reverse_bits(Word a);
// The divisor must not be zero; nor, for the signed ones, the quotient overflow.
Word divide(Word a, Word b);
Word modulo(Word a, Word b);
Word signed_divide(Word a, Word b);
Wide signed_divide(Wide a, Wide b);

Wide operator+(Wide a, Wide b);
Wide operator-(Wide a, Wide b);
Wide operator*(Wide a, Wide b);
Wide operator&(Wide a, Wide b);
Wide operator|(Wide a, Wide b);
Wide operator^(Wide a, Wide b);
Wide operator~(Wide a);
Wide operator<<(Wide a, Word count);
Wide operator>>(Wide a, Word count);
Flag operator==(Wide a, Wide b);
Flag operator<(Wide a, Wide b);
Wide operator+(Wide a, std::uint64_t b);
Wide operator-(Wide a, std::uint64_t b);
Wide operator&(Wide a, std::uint64_t b);
Wide operator|(Wide a, std::uint64_t b);
Wide operator^(Wide a, std::uint64_t b);
inline Wide operator<<(Wide a, std::uint32_t count) { return a << Word{a.emitter, 0, count}; }
inline Wide operator>>(Wide a, std::uint32_t count) { return a >> Word{a.emitter, 0, count}; }
Flag operator==(Wide a, std::uint64_t b);
Flag operator<(Wide a, std::uint64_t b);
inline Flag operator!=(Wide a, Wide b) { return !(a == b); }
inline Flag operator!=(Wide a, std::uint64_t b) { return !(a == b); }
inline Flag operator>(Wide a, Wide b) { return b < a; }
inline Flag operator>=(Wide a, Wide b) { return !(a < b); }
inline Flag operator<=(Wide a, Wide b) { return !(b < a); }
inline Flag operator>=(Wide a, std::uint64_t b) { return !(a < b); }
Flag signed_less(Wide a, Wide b);
Wide signed_shift_right(Wide a, Word count);
Wide mul_high(Wide a, Wide b);
Word clz(Wide a);
// As for words.
Wide divide(Wide a, Wide b);
Wide modulo(Wide a, Wide b);

Word low_word(Wide a);
Word high_word(Wide a);
Wide wide(Word low, Word high);
// As a vector of two words: how 64 bits are handed to and from functions and bitcasts.
Wide wide_from_vector(Emitter& emitter, Id vector);
Id vector_of_words(Wide a);
Wide widen(Word a);         // with zeros
Wide widen_signed(Word a);  // with the sign
// The low word, for algorithms written for both widths.
inline Word low_word(Word a) { return a; }

// Rounded as the device rounds, never contracted; subnormals and the bits of NaNs are the device's.
Float operator+(Float a, Float b);
Float operator-(Float a, Float b);
Float operator*(Float a, Float b);
Double operator+(Double a, Double b);
Double operator-(Double a, Double b);
Double operator*(Double a, Double b);
// The device's own operations: near the exact value, and free in what they make of NaNs and zeros.
Float near_negate(Float a);
Double near_negate(Double a);
Float near_divide(Float a, Float b);
Double near_divide(Double a, Double b);
Float near_sqrt(Float a);
Double near_sqrt(Double a);
// Ordered comparisons: false where one side is a NaN. The operands are not subnormal.
Flag operator<(Float a, Float b);
Flag operator==(Float a, Float b);
Flag operator<(Double a, Double b);
Flag operator==(Double a, Double b);
Flag operator<=(Float a, Float b);
Flag operator<=(Double a, Double b);
inline Flag operator>(Float a, Float b) { return b < a; }
inline Flag operator>(Double a, Double b) { return b < a; }
inline Flag operator>=(Float a, Float b) { return b <= a; }
inline Flag operator>=(Double a, Double b) { return b <= a; }
Word bits(Float a);
Wide bits(Double a);
Float float_from_bits(Word a);
Double double_from_bits(Wide a);

Flag select(Flag condition, Flag a, Flag b);
Word select(Flag condition, Word a, Word b);
Wide select(Flag condition, Wide a, Wide b);
Float select(Flag condition, Float a, Float b);
Double select(Flag condition, Double a, Double b);
inline Word zero_or_one(Flag a) { return select(a, Word{a.emitter, 0, 1}, Word{a.emitter, 0, 0}); }
inline Word min(Word a, Word b) { return select(b < a, b, a); }

}  // namespace felsite::codegen
