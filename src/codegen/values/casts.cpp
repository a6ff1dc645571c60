// Casts and bitcasts between all types.
#include "codegen/values/float_bits.h"
#include "codegen/values/float_layout.h"
#include "codegen/values/number_conversion.h"
#include "codegen/values/value.h"

namespace felsite::codegen {
namespace {

using ir::Type;

std::uint32_t bit_width(Type type) { return 8U * ir::info(type).bytes; }

// The low bits of a word as an integer of the type, widened by its sign.
Word as_type(Type type, Word value) {
  const std::uint32_t width = bit_width(type);
  if (width == 32) return value;
  if (!is_signed(type)) return value & ((1U << width) - 1);
  return signed_shift_right(value << (32 - width), 32 - width);
}

Value to_bool(const Value& a) {
  if (is_wide_integer(a.type)) return {Type::Bool, a.wide() != std::uint64_t{0}};
  if (a.type == Type::F64) {
    return {Type::Bool, magnitude_bits(a.real64()) != std::uint64_t{0}};
  }
  if (ir::is_float(a.type)) return {Type::Bool, magnitude_bits(a.real()) != 0U};
  return {Type::Bool, a.word() != 0U};
}

Value integer_to_integer(Type to, const Value& a) {
  if (!is_wide_integer(to)) {
    return {to, as_type(to, is_wide_integer(a.type) ? low_word(a.wide()) : a.word())};
  }
  if (is_wide_integer(a.type)) return {to, a.wide()};
  return {to, is_signed(a.type) ? widen_signed(a.word()) : widen(a.word())};
}

Double integer_to_double(const Value& a) {
  const bool negative_too = is_signed(a.type);
  return is_wide_integer(a.type) ? double_from_wide(a.wide(), negative_too)
                                 : double_from_word(a.word(), negative_too);
}

Float integer_to_float(const Value& a) {
  const bool negative_too = is_signed(a.type);
  if (is_wide_integer(a.type)) return float_from_wide(a.wide(), negative_too);
  return bit_width(a.type) < 32 ? float_from_small(a.word(), negative_too)
                                : float_from_word(a.word(), negative_too);
}

Float integer_to_brain(const Value& a) {
  const bool negative_too = is_signed(a.type);
  return is_wide_integer(a.type) ? brain_from_wide(a.wide(), negative_too)
                                 : brain_from_word(a.word(), negative_too);
}

Value bool_to_float(Type to, Flag flag) {
  Emitter& e = *flag.emitter;
  if (to == Type::F64) return {to, select(flag, e.number(1.0), e.number(0.0))};
  return {to, select(flag, e.number(1.0F), e.number(0.0F))};
}

Value integer_to_any_float(Type to, const Value& a) {
  if (to == Type::F64) return {to, integer_to_double(a)};
  if (to == Type::BF16) return {to, integer_to_brain(a)};
  // An integer that f32 would round is far beyond the range of f16.
  if (to == Type::F16) return {to, rounded_to_half(integer_to_float(a))};
  return {to, integer_to_float(a)};
}

template <class F>
Value float_to_integer(Type to, F x) {
  if (is_wide_integer(to)) return {to, wide_from_float(x, is_signed(to))};
  return {to, word_from_float(x, bit_width(to), is_signed(to))};
}

Value double_to_narrower(Type to, Double x) {
  if (to == Type::F16) return {to, rounded_to_half(x)};
  if (to == Type::BF16) return {to, rounded_to_brain(x)};
  return {to, rounded_to_float(x)};
}

// Between f16, bf16 and f32, and from them to f64, which has all of their values.
Value float_to_float(Type to, const Value& a) {
  const Float x = a.real();
  if (to == Type::F16) return {to, rounded_to_half(x)};
  if (to == Type::BF16) return {to, rounded_to_brain(x)};
  if (to == Type::F32) return {to, x};
  Emitter& e = *x.emitter;
  return {to, e.as_double(e.function().convert_float(e.type_double(), {x.id}))};
}

}  // namespace

Value lower_cast(Type to, Value a) {
  if (to == a.type) return a;
  if (to == Type::Bool) return to_bool(a);
  if (a.type == Type::Bool) {
    if (ir::is_float(to)) return bool_to_float(to, a.flag());
    return lower_cast(to, {Type::U32, zero_or_one(a.flag())});
  }
  if (!ir::is_float(a.type)) {
    return ir::is_float(to) ? integer_to_any_float(to, a) : integer_to_integer(to, a);
  }
  if (a.type == Type::F64) {
    return ir::is_float(to) ? double_to_narrower(to, a.real64()) : float_to_integer(to, a.real64());
  }
  return ir::is_float(to) ? float_to_float(to, a) : float_to_integer(to, a.real());
}

Value lower_bitcast(Type to, Value a) {
  if (to == a.type) return a;
  if (bit_width(to) == 64) {
    const Wide all = a.type == Type::F64 ? wide_bits_of_value(a) : a.wide();
    return to == Type::F64 ? value_from_bits(a.emitter(), to, all) : Value(to, all);
  }
  const Word all = ir::is_float(a.type) ? word_bits_of_value(a) : a.word();
  return ir::is_float(to) ? value_from_bits(a.emitter(), to, all) : Value(to, as_type(to, all));
}

}  // namespace felsite::codegen
