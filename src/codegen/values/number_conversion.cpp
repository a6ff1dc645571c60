#include "codegen/values/number_conversion.h"

#include "codegen/values/emitter.h"
#include "codegen/values/float_bits.h"
#include "codegen/values/float_layout.h"

namespace felsite::codegen {

using F32 = FloatLayout<Float>;

// Signed conversions have a signed type on the integer's side, although the operation says it all:
// SPIRV-Tools' constant folding, which drivers use, looks at the type.
static Id from_integer(Word value, bool is_signed, Id type) {
  Emitter& e = *value.emitter;
  if (!is_signed) return e.function().float_from_unsigned(type, {value.id()});
  const Id as_signed = e.function().bitcast(e.type_signed_word(), {value.id()});
  return e.function().float_from_signed(type, {as_signed});
}

Float float_from_small(Word value, bool is_signed) {
  Emitter& e = *value.emitter;
  return e.as_float(from_integer(value, is_signed, e.type_float()));
}

namespace {

// An integer's size, shifted until its leading bit is at the top of a word; what that leaves out is
// in the last bit, which is far below all roundings.
struct Leading {
  Word digits;
  Word exponent;  // the field of the leading bit
  Flag is_zero;
  Word sign;
};

Leading leading(Word value, bool is_signed) {
  const Word sign = is_signed ? value & F32::kSign : value.emitter->word(0);
  const Word size = is_signed ? select(sign == 0U, value, 0U - value) : value;
  const Word zeros = clz(size);
  return {size << (zeros & 31U), F32::kBias + 31U - zeros, size == 0U, sign};
}

Leading leading(Wide value, bool is_signed) {
  Emitter& e = *value.emitter;
  const Word sign = is_signed ? high_word(value) & F32::kSign : e.word(0);
  const Wide size = is_signed ? select(sign == 0U, value, e.wide(0) - value) : value;
  const Word zeros = clz(size);
  const Wide moved = size << (zeros & 63U);
  const Word sticky = select(low_word(moved) == 0U, e.word(0), e.word(1));
  return {high_word(moved) | sticky, F32::kBias + 63U - zeros, zeros == 64U, sign};
}

constexpr std::uint32_t kCutBits = 8;  // of a word, beyond the 24 of f32

Float packed(const Leading& number, Word digits) {
  const Word all = F32::exponent_bits(number.exponent - 1U) + digits;
  const Word size = select(number.is_zero, number.digits.emitter->word(0), all);
  return float_from_bits(size | number.sign);
}

Float nearest(const Leading& number) {
  const Word odd = (number.digits >> kCutBits) & 1U;
  const Word cut = number.digits & ((1U << kCutBits) - 1);
  // More than half, or half and odd.
  const Flag rounds_up = cut + odd > 1U << (kCutBits - 1);
  const Word digits = number.digits >> kCutBits;
  return packed(number, select(rounds_up, digits + 1U, digits));
}

// With the last bit set if anything was cut off, a second rounding gives what a single one would.
Float to_odd(const Leading& number) {
  const Flag is_exact = (number.digits & ((1U << kCutBits) - 1)) == 0U;
  const Word digits = number.digits >> kCutBits;
  return packed(number, select(is_exact, digits, digits | 1U));
}

// Of the helper; one more for signed integers.
enum Variant : std::uint32_t { kNearest = 0, kBrain = 2 };

Float wide_by_helper(Wide value, bool is_signed, Variant variant, const char* name) {
  Emitter& e = *value.emitter;
  const Id word = e.type_word();
  return e.as_float(e.call_helper(
      Helper::WideToFloat, variant + (is_signed ? 1U : 0U), name, e.type_float(), {word, word},
      {low_word(value).id(), high_word(value).id()}, [&](FunctionWriter& f) {
        const Wide whole = wide(e.as_word(f.param(0)), e.as_word(f.param(1)));
        const Leading number = leading(whole, is_signed);
        return (variant == kNearest ? nearest(number) : rounded_to_brain(to_odd(number))).id;
      }));
}

template <class F>
Word convert_to_word(F x, bool is_signed) {
  Emitter& e = *x.emitter;
  if (!is_signed) return e.as_word(e.function().unsigned_from_float(e.type_word(), {x.id}));
  const Id converted = e.function().signed_from_float(e.type_signed_word(), {x.id});
  return e.as_word(e.function().bitcast(e.type_word(), {converted}));
}

template <class F>
Word saturated_word(F x, std::uint32_t width, bool is_signed) {
  using Number = typename FloatLayout<F>::Number;
  Emitter& e = *x.emitter;
  const std::uint64_t beyond = std::uint64_t{1} << (is_signed ? width - 1 : width);
  const auto greatest = static_cast<std::uint32_t>(beyond - 1);
  const F upper = e.number(static_cast<Number>(beyond));
  const F lower = e.number(is_signed ? -static_cast<Number>(beyond) : Number{0});
  // Nothing is said of the conversion of what does not fit, so it sees a zero instead.
  const Flag fits = lower < x && x < upper;
  const Word inside = convert_to_word(select(fits, x, e.number(Number{0})), is_signed);
  const Word bounded = select(x >= upper, e.word(greatest), inside);
  return is_signed ? select(x <= lower, e.word(~greatest), bounded) : bounded;
}

// From the bits, so that a pair of words will do: the significand at the top of 64 bits, shifted
// down by as much as the exponent is short of theirs.
template <class F>
Wide saturated_wide(F x, bool is_signed) {
  using Layout = FloatLayout<F>;
  Emitter& e = *x.emitter;
  const auto all = bits(x);
  const auto digits = (all & (Layout::kLeastNormal - 1)) | Layout::kLeastNormal;
  const auto moved = digits << (Layout::kWidth - 1 - Layout::kFractionBits);
  Wide top;
  if constexpr (Layout::kWidth == 32) {
    top = wide(e.word(0), moved);
  } else {
    top = moved;
  }
  const Word exponent = Layout::exponent_of(all);
  const Word limit = e.word(Layout::kBias + 63U);
  const Wide size = top >> ((limit - exponent) & 63U);
  const Wide whole = select(exponent < Layout::kBias, e.wide(0), size);
  const Flag is_negative = (all & Layout::kSign) != typename Layout::Raw{0};
  const Wide greatest = e.wide(is_signed ? ~std::uint64_t{0} >> 1 : ~std::uint64_t{0});
  const Wide least = e.wide(is_signed ? std::uint64_t{1} << 63 : 0);
  const Flag is_too_large = is_signed ? exponent >= limit : exponent > limit;
  const Wide negative = is_signed ? e.wide(0) - whole : e.wide(0);
  const Wide fitting = select(is_negative, negative, whole);
  const Wide bounded = select(is_too_large, select(is_negative, least, greatest), fitting);
  return select(is_nan(x), e.wide(0), bounded);
}

template <class F>
Wide wide_from_float_by_helper(F x, bool is_signed, const char* name) {
  Emitter& e = *x.emitter;
  constexpr auto kType = FloatLayout<F>::kType;
  const Id pair = e.type_word_pair();
  const Id result = e.call_helper(
      Helper::FloatToWide, 2 * static_cast<std::uint32_t>(kType) + (is_signed ? 1U : 0U), name,
      pair, {e.type_of(kType)}, {x.id}, [&](FunctionWriter& f) {
        return vector_of_words(saturated_wide(F{&e, f.param(0)}, is_signed));
      });
  return wide_from_vector(e, result);
}

}  // namespace

// In halves, which convert without rounding: the sum is the only one, and it is promised.
Float float_from_word(Word value, bool is_signed) {
  Emitter& e = *value.emitter;
  if (!e.exact()) return float_from_small(value, is_signed);
  const Word upper = is_signed ? signed_shift_right(value, 16) : value >> 16;
  const Float lower = float_from_small(value & 0xFFFFU, false);
  return float_from_small(upper, is_signed) * e.number(0x1p16F) + lower;
}

Float float_from_wide(Wide value, bool is_signed) {
  return wide_by_helper(value, is_signed, kNearest, is_signed ? "i64_to_f32" : "u64_to_f32");
}

Float brain_from_word(Word value, bool is_signed) {
  return rounded_to_brain(to_odd(leading(value, is_signed)));
}

Float brain_from_wide(Wide value, bool is_signed) {
  return wide_by_helper(value, is_signed, kBrain, is_signed ? "i64_to_bf16" : "u64_to_bf16");
}

Double double_from_word(Word value, bool is_signed) {
  Emitter& e = *value.emitter;
  return e.as_double(from_integer(value, is_signed, e.type_double()));
}

Double double_from_wide(Wide value, bool is_signed) {
  Emitter& e = *value.emitter;
  const Double upper = double_from_word(high_word(value), is_signed) * e.number(0x1p32);
  return upper + double_from_word(low_word(value), false);
}

Word word_from_float(Float x, std::uint32_t width, bool is_signed) {
  return saturated_word(x, width, is_signed);
}
Word word_from_float(Double x, std::uint32_t width, bool is_signed) {
  return saturated_word(x, width, is_signed);
}
Wide wide_from_float(Float x, bool is_signed) {
  return wide_from_float_by_helper(x, is_signed, is_signed ? "f32_to_i64" : "f32_to_u64");
}
Wide wide_from_float(Double x, bool is_signed) {
  return wide_from_float_by_helper(x, is_signed, is_signed ? "f64_to_i64" : "f64_to_u64");
}

}  // namespace felsite::codegen
