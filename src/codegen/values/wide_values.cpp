// 64-bit integers, native or on pairs of words.
#include "codegen/values/emitter.h"
#include "codegen/values/values.h"

namespace felsite::codegen {
namespace {

using spv::Op;

Wide native_op(Op op, Wide a, Wide b) {
  Emitter& e = *a.emitter;
  return e.as_wide(e.emit(op, e.type_wide(), {a.native, b.native}));
}

Flag native_compare(Op op, Wide a, Wide b) {
  Emitter& e = *a.emitter;
  return e.as_flag(e.emit(op, e.type_bool(), {a.native, b.native}));
}

Wide native_shift(Op op, Wide a, Word count) {
  Emitter& e = *a.emitter;
  return e.as_wide(e.emit(op, e.type_wide(), {a.native, count.id()}));
}

Wide pair(Word low, Word high) { return {low.emitter, 0, low, high, {}}; }

Word carry(Flag flag) { return select(flag, flag.emitter->word(1), flag.emitter->word(0)); }

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
  if (!a.is_pair()) return native_op(Op::OpIAdd, a, b);
  const Word low = a.low + b.low;
  return pair(low, a.high + b.high + carry(low < a.low));
}

Wide operator-(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(Op::OpISub, a, b);
  return pair(a.low - b.low, a.high - b.high - carry(a.low < b.low));
}

Wide operator*(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(Op::OpIMul, a, b);
  const Word high = mul_high(a.low, b.low) + a.low * b.high + a.high * b.low;
  return pair(a.low * b.low, high);
}

Wide operator&(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(Op::OpBitwiseAnd, a, b);
  return pair(a.low & b.low, a.high & b.high);
}
Wide operator|(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(Op::OpBitwiseOr, a, b);
  return pair(a.low | b.low, a.high | b.high);
}
Wide operator^(Wide a, Wide b) {
  if (!a.is_pair()) return native_op(Op::OpBitwiseXor, a, b);
  return pair(a.low ^ b.low, a.high ^ b.high);
}
Wide operator~(Wide a) {
  if (a.is_pair()) return pair(~a.low, ~a.high);
  return a.emitter->as_wide(a.emitter->emit(Op::OpNot, a.emitter->type_wide(), {a.native}));
}

Wide operator<<(Wide a, Word count) {
  if (!a.is_pair()) return native_shift(Op::OpShiftLeftLogical, a, count);
  const Crossing c = crossing(count);
  const Word low = a.low << c.count;
  const Word high = (a.high << c.count) | ((a.low >> 1) >> c.rest);
  return pair(select(c.whole, a.emitter->word(0), low), select(c.whole, low, high));
}

Wide operator>>(Wide a, Word count) {
  if (!a.is_pair()) return native_shift(Op::OpShiftRightLogical, a, count);
  const Crossing c = crossing(count);
  const Word high = a.high >> c.count;
  const Word low = (a.low >> c.count) | ((a.high << 1) << c.rest);
  return pair(select(c.whole, high, low), select(c.whole, a.emitter->word(0), high));
}

Wide signed_shift_right(Wide a, Word count) {
  if (!a.is_pair()) return native_shift(Op::OpShiftRightArithmetic, a, count);
  const Crossing c = crossing(count);
  const Word high = signed_shift_right(a.high, c.count);
  const Word low = (a.low >> c.count) | ((a.high << 1) << c.rest);
  return pair(select(c.whole, high, low), select(c.whole, signed_shift_right(a.high, 31), high));
}

Flag operator==(Wide a, Wide b) {
  if (!a.is_pair()) return native_compare(Op::OpIEqual, a, b);
  return ((a.low ^ b.low) | (a.high ^ b.high)) == 0U;
}
Flag operator<(Wide a, Wide b) {
  if (!a.is_pair()) return native_compare(Op::OpULessThan, a, b);
  return select(a.high == b.high, a.low < b.low, a.high < b.high);
}
Flag signed_less(Wide a, Wide b) {
  if (!a.is_pair()) return native_compare(Op::OpSLessThan, a, b);
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
Wide operator<<(Wide a, std::uint32_t count) { return a << a.emitter->word(count); }
Wide operator>>(Wide a, std::uint32_t count) { return a >> a.emitter->word(count); }
Flag operator==(Wide a, std::uint64_t b) { return a == a.emitter->wide(b); }
Flag operator<(Wide a, std::uint64_t b) { return a < a.emitter->wide(b); }

Word low_word(Wide a) {
  if (a.is_pair()) return a.low;
  Emitter& e = *a.emitter;
  if (a.constant) return e.word(static_cast<std::uint32_t>(*a.constant));
  return e.as_word(e.emit(Op::OpUConvert, e.type_word(), {a.native}));
}

Word high_word(Wide a) { return a.is_pair() ? a.high : low_word(a >> 32U); }

Wide wide(Word low, Word high) {
  Emitter& e = *low.emitter;
  if (!e.has(Feature::Int64)) return pair(low, high);
  const Id vector = e.emit(Op::OpCompositeConstruct, e.type_word_pair(), {low.id(), high.id()});
  return e.as_wide(e.emit(Op::OpBitcast, e.type_wide(), {vector}));
}

Wide widen(Word a) {
  Emitter& e = *a.emitter;
  if (!e.has(Feature::Int64)) return pair(a, e.word(0));
  return e.as_wide(e.emit(Op::OpUConvert, e.type_wide(), {a.id()}));
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
      c.emitter->emit(Op::OpSelect, c.emitter->type_wide(), {c.id, a.native, b.native}));
}

// On pairs by magnitudes; MIN has one too, as an unsigned number.
Wide signed_divide(Wide a, Wide b) {
  Emitter& e = *a.emitter;
  if (!a.is_pair()) return native_op(Op::OpSDiv, a, b);
  const auto negative = [&](Wide x) { return signed_less(x.high, e.word(0)); };
  const auto negated = [&](Wide x) { return e.wide(0) - x; };
  const auto magnitude = [&](Wide x) { return select(negative(x), negated(x), x); };
  const Wide size = divide(magnitude(a), magnitude(b));
  return select(negative(a ^ b), negated(size), size);
}

Wide bits(Double a) {
  Emitter& e = *a.emitter;
  if (e.has(Feature::Int64)) return e.as_wide(e.emit(Op::OpBitcast, e.type_wide(), {a.id}));
  const Id vector = e.emit(Op::OpBitcast, e.type_word_pair(), {a.id});
  const auto part = [&](std::uint32_t index) {
    return e.as_word(e.emit(Op::OpCompositeExtract, e.type_word(), {vector, index}));
  };
  return pair(part(0), part(1));
}

Double double_from_bits(Wide a) {
  Emitter& e = *a.emitter;
  Id source = a.native;
  if (a.is_pair()) {
    source = e.emit(Op::OpCompositeConstruct, e.type_word_pair(), {a.low.id(), a.high.id()});
  }
  return e.as_double(e.emit(Op::OpBitcast, e.type_double(), {source}));
}

}  // namespace felsite::codegen
