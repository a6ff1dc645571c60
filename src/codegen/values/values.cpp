#include "codegen/values/values.h"

#include <bit>

#include "codegen/values/emitter.h"
#include "codegen/values/float_layout.h"

namespace felsite::codegen {
namespace {

using I = InstructionWriter;
using Instruction = InstructionWriter::Instruction;

Flag flag_op(Instruction op, Flag a, Flag b) {
  return a.emitter->as_flag(a.emitter->emit(op, a.emitter->type_bool(), {a.id, b.id}));
}

Word word_op(Instruction op, Word a, Word b) {
  Emitter& e = *a.emitter;
  return e.as_word(e.emit(op, e.type_word(), {a.id(), b.id()}));
}

Flag compare(Instruction op, Word a, Word b) {
  Emitter& e = *a.emitter;
  return e.as_flag(e.emit(op, e.type_bool(), {a.id(), b.id()}));
}

// An operation whose value is known already, or that changes nothing, is not emitted.
template <class Fold>
Word folded(Instruction op, Word a, Word b, Fold fold) {
  if (a.is_constant() && b.is_constant()) return a.emitter->word(fold(a.constant, b.constant));
  return word_op(op, a, b);
}

template <class Fold>
Flag folded_compare(Instruction op, Word a, Word b, Fold fold) {
  if (a.is_constant() && b.is_constant()) return a.emitter->flag(fold(a.constant, b.constant));
  return compare(op, a, b);
}

}  // namespace

Id Word::id() const {
  return is_constant() ? emitter->module().constant(emitter->type_word(), constant) : emitted;
}

Flag operator!(Flag a) {
  return a.emitter->as_flag(a.emitter->function().logical_not(a.emitter->type_bool(), {a.id}));
}
Flag operator&&(Flag a, Flag b) { return flag_op(&I::logical_and, a, b); }
Flag operator||(Flag a, Flag b) { return flag_op(&I::logical_or, a, b); }
Flag operator==(Flag a, Flag b) { return flag_op(&I::logical_equal, a, b); }
Flag operator!=(Flag a, Flag b) { return flag_op(&I::logical_not_equal, a, b); }

Word operator+(Word a, Word b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return folded(&I::add, a, b, [](auto x, auto y) { return x + y; });
}
Word operator-(Word a, Word b) {
  if (b.is(0)) return a;
  return folded(&I::subtract, a, b, [](auto x, auto y) { return x - y; });
}
Word operator*(Word a, Word b) {
  if (a.is(1)) return b;
  if (b.is(1)) return a;
  return folded(&I::multiply, a, b, [](auto x, auto y) { return x * y; });
}
Word operator&(Word a, Word b) {
  if (a.is(~0U)) return b;
  if (b.is(~0U)) return a;
  return folded(&I::bit_and, a, b, [](auto x, auto y) { return x & y; });
}
Word operator|(Word a, Word b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return folded(&I::bit_or, a, b, [](auto x, auto y) { return x | y; });
}
Word operator^(Word a, Word b) {
  if (a.is(0)) return b;
  if (b.is(0)) return a;
  return folded(&I::bit_xor, a, b, [](auto x, auto y) { return x ^ y; });
}
Word operator<<(Word a, Word count) {
  if (count.is(0)) return a;
  return folded(&I::shift_left, a, count, [](auto x, auto y) { return x << (y & 31U); });
}
Word operator>>(Word a, Word count) {
  if (count.is(0)) return a;
  return folded(&I::shift_right, a, count, [](auto x, auto y) { return x >> (y & 31U); });
}
Word operator~(Word a) {
  Emitter& e = *a.emitter;
  if (a.is_constant()) return e.word(~a.constant);
  return e.as_word(e.function().bit_not(e.type_word(), {a.id()}));
}
Flag operator==(Word a, Word b) {
  return folded_compare(&I::equal, a, b, [](auto x, auto y) { return x == y; });
}
Flag operator!=(Word a, Word b) {
  return folded_compare(&I::not_equal, a, b, [](auto x, auto y) { return x != y; });
}
Flag operator<(Word a, Word b) {
  return folded_compare(&I::less, a, b, [](auto x, auto y) { return x < y; });
}
Flag operator<=(Word a, Word b) {
  return folded_compare(&I::less_equal, a, b, [](auto x, auto y) { return x <= y; });
}
Flag operator>(Word a, Word b) {
  return folded_compare(&I::greater, a, b, [](auto x, auto y) { return x > y; });
}
Flag operator>=(Word a, Word b) {
  return folded_compare(&I::greater_equal, a, b, [](auto x, auto y) { return x >= y; });
}

Flag signed_less(Word a, Word b) { return compare(&I::signed_less, a, b); }
Word signed_shift_right(Word a, Word count) { return word_op(&I::signed_shift_right, a, count); }

Word mul_high(Word a, Word b) {
  Emitter& e = *a.emitter;
  const Id both =
      e.function().multiply_extended(e.module().type_pair(e.type_word()), {a.id(), b.id()});
  return e.as_word(e.function().extract(e.type_word(), {both, 1}));
}

// The highest bit of zero is reported as -1, so that 31 - (-1) is the width.
Word clz(Word a) {
  Emitter& e = *a.emitter;
  return 31U - e.as_word(e.glsl(GLSLstd450FindUMsb, e.type_word(), {a.id()}));
}
Word ctz(Word a) {
  Emitter& e = *a.emitter;
  return min(e.as_word(e.glsl(GLSLstd450FindILsb, e.type_word(), {a.id()})), e.word(32));
}
Word popcount(Word a) {
  Emitter& e = *a.emitter;
  return e.as_word(e.function().bit_count(e.type_word(), {a.id()}));
}
Word reverse_bits(Word a) {
  Emitter& e = *a.emitter;
  return e.as_word(e.function().reverse_bits(e.type_word(), {a.id()}));
}
Word divide(Word a, Word b) { return word_op(&I::divide, a, b); }
Word modulo(Word a, Word b) { return word_op(&I::modulo, a, b); }
Word signed_divide(Word a, Word b) { return word_op(&I::signed_divide, a, b); }

// What f32 and f64 have alike.
template <class F, class... More>
static F float_op(Instruction op, F a, More... more) {
  return {a.emitter, a.emitter->emit_float(op, type_of(a), {a.id, more.id...})};
}
Float operator+(Float a, Float b) { return float_op(&I::float_add, a, b); }
Float operator-(Float a, Float b) { return float_op(&I::float_subtract, a, b); }
Float operator*(Float a, Float b) { return float_op(&I::float_multiply, a, b); }
Double operator+(Double a, Double b) { return float_op(&I::float_add, a, b); }
Double operator-(Double a, Double b) { return float_op(&I::float_subtract, a, b); }
Double operator*(Double a, Double b) { return float_op(&I::float_multiply, a, b); }
Float near_divide(Float a, Float b) { return float_op(&I::float_divide, a, b); }
Double near_divide(Double a, Double b) { return float_op(&I::float_divide, a, b); }
Float near_negate(Float a) { return float_op(&I::float_negate, a); }
Double near_negate(Double a) { return float_op(&I::float_negate, a); }
Float near_sqrt(Float a) { return through_glsl(GLSLstd450Sqrt, a); }
Double near_sqrt(Double a) { return through_glsl(GLSLstd450Sqrt, a); }

namespace {

// Where nothing promises that comparisons see NaNs, they are made on the bits: a signed integer in
// the order of the floats, with one key for both zeros.
struct OrderKey {
  Word key;
  Flag is_nan;
};

OrderKey order_key(Float x) {
  const Word all = bits(x);
  const Word magnitude = all & 0x7FFF'FFFFU;
  const Flag negative = signed_less(all, x.emitter->word(0));
  return {select(negative, 0U - magnitude, magnitude), magnitude > 0x7F80'0000U};
}

Flag on_keys(Instruction op, Float a, Float b) {
  const OrderKey left = order_key(a);
  const OrderKey right = order_key(b);
  return compare(op, left.key, right.key) && !(left.is_nan || right.is_nan);
}

Flag compare(Instruction op, Instruction on_integers, Float a, Float b) {
  Emitter& e = *a.emitter;
  if (e.exact() && !e.has(Feature::PreserveSpecials32)) return on_keys(on_integers, a, b);
  return e.as_flag(e.emit(op, e.type_bool(), {a.id, b.id}));
}

Flag compare(Instruction op, Double a, Double b) {
  Emitter& e = *a.emitter;
  return e.as_flag(e.emit(op, e.type_bool(), {a.id, b.id}));
}

}  // namespace

Flag operator<(Float a, Float b) { return compare(&I::float_less, &I::signed_less, a, b); }
Flag operator<=(Float a, Float b) {
  return compare(&I::float_less_equal, &I::signed_less_equal, a, b);
}
Flag operator==(Float a, Float b) { return compare(&I::float_equal, &I::equal, a, b); }
Flag operator<(Double a, Double b) { return compare(&I::float_less, a, b); }
Flag operator<=(Double a, Double b) { return compare(&I::float_less_equal, a, b); }
Flag operator==(Double a, Double b) { return compare(&I::float_equal, a, b); }

Word bits(Float a) {
  return a.emitter->as_word(a.emitter->function().bitcast(a.emitter->type_word(), {a.id}));
}
Float float_from_bits(Word a) {
  Emitter& e = *a.emitter;
  if (a.is_constant()) return e.number(std::bit_cast<float>(a.constant));
  return e.as_float(e.function().bitcast(e.type_float(), {a.id()}));
}

static Id select_ids(Flag c, Id type, Id a, Id b) {
  return c.emitter->function().select(type, {c.id, a, b});
}
// Of two handles of one kind, by a condition that may be known.
template <class Handle>
static Handle chosen(Flag c, Id type, Handle a, Handle b) {
  if (c.known != Flag::Known::No) return c.known == Flag::Known::True ? a : b;
  return {c.emitter, select_ids(c, type, a.id, b.id)};
}
Flag select(Flag c, Flag a, Flag b) { return chosen(c, c.emitter->type_bool(), a, b); }
Float select(Flag c, Float a, Float b) { return chosen(c, type_of(a), a, b); }
Double select(Flag c, Double a, Double b) { return chosen(c, type_of(a), a, b); }
Word select(Flag c, Word a, Word b) {
  if (c.known != Flag::Known::No) return c.known == Flag::Known::True ? a : b;
  return c.emitter->as_word(select_ids(c, c.emitter->type_word(), a.id(), b.id()));
}

}  // namespace felsite::codegen
