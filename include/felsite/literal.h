// Literal values: a type and the bits of one element of it, always in canonical form.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "felsite/types.h"

namespace felsite::ir {

struct Literal {
  Type type = Type::None;
  std::uint64_t bits = 0;
  bool operator==(const Literal&) const = default;
};

// Bools become 0 or 1, integers are truncated to their width, NaNs become the one NaN of the type,
// and subnormals of bf16, f32 and f64 become zeros of the same sign.
std::uint64_t canonical_bits(Type type, std::uint64_t bits);

// The literal of a float type nearest to `value` (ties to even, subnormals as above).
Literal float_literal(Type type, double value);
// The same for a decimal of any length such as -1.5e-3, rounded once. Absent if the text is not a
// decimal or the number is too large for the type.
std::optional<Literal> decimal_literal(Type type, std::string_view text);
// The value of a float literal; exact, since f64 holds every value of every float type.
double float_value(Literal literal);

inline Literal literal(bool value) { return {Type::Bool, value ? 1u : 0u}; }
inline Literal literal(std::uint32_t value) { return {Type::U32, value}; }
inline Literal literal(std::int32_t value) {
  return {Type::I32, static_cast<std::uint32_t>(value)};
}
inline Literal literal(std::uint64_t value) { return {Type::U64, value}; }
inline Literal literal(std::int64_t value) {
  return {Type::I64, static_cast<std::uint64_t>(value)};
}
inline Literal literal(float value) { return float_literal(Type::F32, value); }
inline Literal literal(double value) { return float_literal(Type::F64, value); }

}  // namespace felsite::ir
