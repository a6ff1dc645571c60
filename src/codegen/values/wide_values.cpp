// 64-bit integers, native or on pairs of words.
#include "codegen/values/emitter.h"
#include "codegen/values/values.h"

namespace felsite::codegen {
namespace {

using I = InstructionWriter;
using Instruction = InstructionWriter::Instruction;

Wide native_op(Instruction op, Wide a, Wide b) {
  Emitter& e = *a.emitter;
  return e.as_wide(e.emit(op, e.type_wide(), {a.native, b.native}));
}

Flag native_compare(Instruction op, Wide a, Wide b) {
  Emitter& e = *a.emitter;
  return e.as_flag(e.emit(op, e.type_bool(), {a.native, b.native}));
}

Wide native_shift(Instruction op, Wide a, Word count) {
  Emitter& e = *a.emitter;
  return e.as_wide(e.emit(op, e.type_wide(), {a.native, count.id()}));
}

Word word_in(Emitter& e, Id vector, std::uint32_t index) {
  return e.as_word(e.function().extract(e.type_word(), {vector, index}));
}

Wide pair(Word low, Word high) { return {low.emitter, 0, low, high, {}}; }

// A pair shifted to the left; the count is below 64. Shifting a word by 32 is not defined, so what
// crosses from one word to the other goes by 31 - n and one more.
struct Crossing {
  Word count;  // within a word
  Flag whole;  // 32 or more
  Word rest;   // 31 - count
};

Crossing crossing(Word count) {
  const Word within = count & 31U;
  return {within, count > 31U, within ^ 31U};
}

}  // namespace

Wide operator+(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(&I::add, a, b);
  const Word low = a.low + b.low;
  return pair(low, a.high + b.high + zero_or_one(low < a.low));
}

Wide operator-(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(&I::subtract, a, b);
  return pair(a.low - b.low, a.high - b.high - zero_or_one(a.low < b.low));
}

Wide operator*(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(&I::multiply, a, b);
  const Word high = mul_high(a.low, b.low) + a.low * b.high + a.high * b.low;
  return pair(a.low * b.low, high);
}

Wide operator&(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(&I::bit_and, a, b);
  return pair(a.low & b.low, a.high & b.high);
}
Wide operator|(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(&I::bit_or, a, b);
  return pair(a.low | b.low, a.high | b.high);
}
Wide operator^(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(&I::bit_xor, a, b);
  return pair(a.low ^ b.low, a.high ^ b.high);
}
Wide operator~(Wide a) {
  if (a.is_pair()) return pair(~a.low, ~a.high);
  return a.emitter->as_wide(a.emitter->function().bit_not(a.emitter->type_wide(), {a.native}));
}

Wide operator<<(Wide a, Word count) {
  if (!a.is_pair()) return native_shift(&I::shift_left, a, count);
  const Crossing c = crossing(count);
  const Word low = a.low << c.count;
  const Word high = (a.high << c.count) | ((a.low >> 1) >> c.rest);
  return pair(select(c.whole, a.emitter->word(0), low), select(c.whole, low, high));
}

Wide operator>>(Wide a, Word count) {
  if (!a.is_pair()) return native_shift(&I::shift_right, a, count);
  const Crossing c = crossing(count);
  const Word high = a.high >> c.count;
  const Word low = (a.low >> c.count) | ((a.high << 1) << c.rest);
  return pair(select(c.whole, high, low), select(c.whole, a.emitter->word(0), high));
}

Wide signed_shift_right(Wide a, Word count) {
  if (!a.is_pair()) return native_shift(&I::signed_shift_right, a, count);
  const Crossing c = crossing(count);
  const Word high = signed_shift_right(a.high, c.count);
  const Word low = (a.low >> c.count) | ((a.high << 1) << c.rest);
  return pair(select(c.whole, high, low), select(c.whole, signed_shift_right(a.high, 31), high));
}

Flag operator==(Wide a, Wide b) {
  if (!a.is_pair()) return native_compare(&I::equal, a, b);
  return ((a.low ^ b.low) | (a.high ^ b.high)) == 0U;
}
Flag operator<(Wide a, Wide b) {
  if (!a.is_pair()) return native_compare(&I::less, a, b);
  return select(a.high == b.high, a.low < b.low, a.high < b.high);
}
Flag signed_less(Wide a, Wide b) {
  if (!a.is_pair()) return native_compare(&I::signed_less, a, b);
  return select(a.high == b.high, a.low < b.low, signed_less(a.high, b.high));
}

Wide operator+(Wide a, std::uint64_t b) { return a + a.emitter->wide(b); }
Wide operator-(Wide a, std::uint64_t b) { return a - a.emitter->wide(b); }
Wide operator&(Wide a, std::uint64_t b) {
  if (a.constant) return a.emitter->wide(*a.constant & b);
  return a & a.emitter->wide(b);
}
Wide operator|(Wide a, std::uint64_t b) { return a | a.emitter->wide(b); }
Wide operator^(Wide a, std::uint64_t b) { return a ^ a.emitter->wide(b); }
Flag operator==(Wide a, std::uint64_t b) { return a == a.emitter->wide(b); }
Flag operator<(Wide a, std::uint64_t b) { return a < a.emitter->wide(b); }

Word low_word(Wide a) {
  if (a.is_pair()) return a.low;
  Emitter& e = *a.emitter;
  if (a.constant) return e.word(static_cast<std::uint32_t>(*a.constant));
  return e.as_word(e.function().convert_integer(e.type_word(), {a.native}));
}

Word high_word(Wide a) { return a.is_pair() ? a.high : low_word(a >> 32U); }

Wide wide(Word low, Word high) {
  Emitter& e = *low.emitter;
  if (!e.has(Feature::Int64)) return pair(low, high);
  const Id vector = e.function().construct(e.type_word_pair(), {low.id(), high.id()});
  return e.as_wide(e.function().bitcast(e.type_wide(), {vector}));
}

Wide wide_from_vector(Emitter& e, Id vector) {
  const Word low = word_in(e, vector, 0);
  return wide(low, word_in(e, vector, 1));
}

Id vector_of_words(Wide a) {
  const Id low = low_word(a).id();
  return a.emitter->function().construct(a.emitter->type_word_pair(), {low, high_word(a).id()});
}

Wide widen(Word a) {
  Emitter& e = *a.emitter;
  if (!e.has(Feature::Int64)) return pair(a, e.word(0));
  return e.as_wide(e.function().convert_integer(e.type_wide(), {a.id()}));
}

// From its words also where the device converts: Mesa 22.3 narrows `widened < constant` wrongly.
Wide widen_signed(Word a) { return wide(a, signed_shift_right(a, 31)); }

// The carries of the middle products into the upper half.
Wide mul_high(Wide a, Wide b) {
  const Wide a_low = widen(low_word(a));
  const Wide a_high = widen(high_word(a));
  const Wide b_low = widen(low_word(b));
  const Wide b_high = widen(high_word(b));
  const Wide low_high = a_low * b_high;
  const Wide middle = a_high * b_low + widen(high_word(a_low * b_low)) + widen(low_word(low_high));
  return a_high * b_high + widen(high_word(low_high)) + widen(high_word(middle));
}

Word clz(Wide a) {
  const Word high = high_word(a);
  return select(high == 0U, clz(low_word(a)) + 32U, clz(high));
}

Wide select(Flag c, Wide a, Wide b) {
  if (a.is_pair()) return pair(select(c, a.low, b.low), select(c, a.high, b.high));
  return c.emitter->as_wide(
      c.emitter->function().select(c.emitter->type_wide(), {c.id, a.native, b.native}));
}

// On pairs by magnitudes; MIN has one too, as an unsigned number.
Wide signed_divide(Wide a, Wide b) {
  Emitter& e = *a.emitter;
  if (!a.is_pair()) return native_op(&I::signed_divide, a, b);
  const auto negative = [&](Wide x) { return signed_less(x.high, e.word(0)); };
  const auto negated = [&](Wide x) { return e.wide(0) - x; };
  const auto magnitude = [&](Wide x) { return select(negative(x), negated(x), x); };
  const Wide size = divide(magnitude(a), magnitude(b));
  return select(negative(a ^ b), negated(size), size);
}

Wide bits(Double a) {
  Emitter& e = *a.emitter;
  if (e.has(Feature::Int64)) return e.as_wide(e.function().bitcast(e.type_wide(), {a.id}));
  const Id vector = e.function().bitcast(e.type_word_pair(), {a.id});
  const Word high = word_in(e, vector, 1);
  return pair(word_in(e, vector, 0), high);
}

Double double_from_bits(Wide a) {
  Emitter& e = *a.emitter;
  const Id source = a.is_pair() ? vector_of_words(a) : a.native;
  return e.as_double(e.function().bitcast(e.type_double(), {source}));
}

}  // namespace felsite::codegen
