// A value of the IR on the device: its type, and the SPIR-V value that holds it.
//
// How each type is held: bool as a truth value; narrow integers widened to a word by their own
// sign; u64 and i64 as a native integer or a pair of words; f16 and bf16 as the f32 of the same
// value; f64 natively. In exact mode floats are never subnormal; which NaN a NaN is, is decided
// where its bits can be seen (float_bits.h), so that arithmetic need not.
#pragma once

#include "codegen/values/emitter.h"
#include "codegen/values/values.h"
#include "felsite/literal.h"
#include "felsite/ops.h"

namespace felsite::codegen {

struct Value {
  ir::Type type = ir::Type::None;

  Value() = default;
  Value(ir::Type t, Flag v) : type(t), first_{v.emitter, v.id, 0} {}
  Value(ir::Type t, Word v) : type(t), first_(v) {}
  Value(ir::Type t, Wide v)
      : type(t),
        first_(v.is_pair() ? v.low : Word{v.emitter, v.native, 0}),
        second_(v.high),
        constant_(v.constant) {}
  Value(ir::Type t, Float v) : type(t), first_{v.emitter, v.id, 0} {}
  Value(ir::Type t, Double v) : type(t), first_{v.emitter, v.id, 0} {}

  Emitter& emitter() const { return *first_.emitter; }
  bool is_pair() const { return second_.emitter != nullptr; }
  // The one SPIR-V value that holds it; of a pair, the low word.
  Id id() const { return first_.id(); }

  // The handle that fits the type.
  Flag flag() const { return {first_.emitter, id()}; }
  Word word() const { return first_; }
  Wide wide() const {
    if (is_pair()) return {first_.emitter, 0, first_, second_, {}};
    return {first_.emitter, id(), {}, {}, constant_};
  }
  Float real() const { return {first_.emitter, id()}; }
  Double real64() const { return {first_.emitter, id()}; }

 private:
  Word first_;   // holds the id of whatever the type is held in
  Word second_;  // the high word of a pair
  std::optional<std::uint64_t> constant_;
};

inline bool is_wide_integer(ir::Type type) {
  return type == ir::Type::U64 || type == ir::Type::I64;
}
inline bool is_held_as_pair(const Emitter& e, ir::Type type) {
  return is_wide_integer(type) && !e.has(Feature::Int64);
}
inline bool is_signed(ir::Type type) { return ir::info(type).kind == ir::TypeClass::Signed; }

// The value that the ids hold. `high`: of a pair, else 0.
Value value_from_parts(Emitter& emitter, ir::Type type, Id low, Id high);
// The same from the one value that a function gives, which of a pair is a vector.
Value value_from_vector(Emitter& emitter, ir::Type type, Id id);

// The value of every operation, on devices as in the reference.
Value lower_literal(Emitter& emitter, ir::Type type, std::uint64_t bits);
Value lower_binary(ir::BinaryOp op, Value a, Value b);
Value lower_unary(ir::UnaryOp op, Value a);
Value lower_select(Flag condition, Value a, Value b);
Value lower_fma(Value a, Value b, Value c);
Value lower_cast(ir::Type to, Value a);
Value lower_bitcast(ir::Type to, Value a);

}  // namespace felsite::codegen
