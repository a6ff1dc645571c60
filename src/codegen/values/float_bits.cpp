#include "codegen/values/float_bits.h"

#include "codegen/values/float_layout.h"

namespace felsite::codegen {
namespace {

using ir::Type;

template <class F>
F flushed_on_bits(F x) {
  using Layout = FloatLayout<F>;
  const auto all = bits(x);
  const Flag is_tiny = (all & Layout::kMagnitude) < Layout::kLeastNormal;
  return from_bits(select(is_tiny, all & Layout::kSign, all));
}

template <class F>
BitsOf<F> with_one_nan(F x) {
  using Layout = FloatLayout<F>;
  return select(is_nan(x), Layout::constant(*x.emitter, Layout::kNan), bits(x));
}

}  // namespace

Float flushed(Float x) { return flushed_on_bits(x); }
Double flushed(Double x) { return flushed_on_bits(x); }
Word canonical_bits(Float x) { return with_one_nan(x); }
Wide canonical_bits(Double x) { return with_one_nan(x); }

Value value_from_bits(Emitter& e, Type type, Word all) {
  if (type == Type::F16) return {type, float_from_half_bits(all)};
  if (type == Type::BF16) return {type, float_from_brain_bits(all)};
  const Float value = float_from_bits(all);
  return {type, e.exact() ? flushed(value) : value};
}

Value value_from_bits(Emitter& e, Type type, Wide all) {
  const Double value = double_from_bits(all);
  return {type, e.exact() ? flushed(value) : value};
}

Word word_bits_of_value(Value value) {
  if (value.type == Type::F16) return half_bits(value.real());
  if (value.type == Type::BF16) return brain_bits(value.real());
  return value.emitter().exact() ? canonical_bits(value.real()) : bits(value.real());
}

Wide wide_bits_of_value(Value value) {
  return value.emitter().exact() ? canonical_bits(value.real64()) : bits(value.real64());
}

}  // namespace felsite::codegen
