// The value of every operation, in one place; the interpreter and constant folding both use it.
//
// A lane holds a value in register form: bool as 0 or 1, narrow integers widened to 32 bits, f16
// and bf16 as the f32 of the same value. Floats in lanes are always canonical (exact_float.h).
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "arithmetic/exact_float.h"
#include "arithmetic/functions.h"
#include "felsite/ops.h"

namespace felsite::arithmetic {

using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;

// clang-format off
template <Type type> struct LaneOf;
template <> struct LaneOf<Type::Bool> { using type = std::uint32_t; };
template <> struct LaneOf<Type::U8>   { using type = std::uint32_t; };
template <> struct LaneOf<Type::I8>   { using type = std::int32_t; };
template <> struct LaneOf<Type::U16>  { using type = std::uint32_t; };
template <> struct LaneOf<Type::I16>  { using type = std::int32_t; };
template <> struct LaneOf<Type::U32>  { using type = std::uint32_t; };
template <> struct LaneOf<Type::I32>  { using type = std::int32_t; };
template <> struct LaneOf<Type::U64>  { using type = std::uint64_t; };
template <> struct LaneOf<Type::I64>  { using type = std::int64_t; };
template <> struct LaneOf<Type::F16>  { using type = float; };
template <> struct LaneOf<Type::BF16> { using type = float; };
template <> struct LaneOf<Type::F32>  { using type = float; };
template <> struct LaneOf<Type::F64>  { using type = double; };
// clang-format on
template <Type type>
using Lane = typename LaneOf<type>::type;

template <Type type>
inline constexpr bool kIsFloat = ir::is_float(type);

// After each operation a narrow float is rounded to its type.
template <Type type>
constexpr Lane<type> round_to_type(Lane<type> value) {
  if constexpr (type == Type::F16) return round_to_f16(value);
  if constexpr (type == Type::BF16) return round_to_bf16(value);
  return value;
}

namespace detail {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <std::integral T>
using Wide =
    std::conditional_t<sizeof(T) == 4,
                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                       std::conditional_t<std::is_signed_v<T>, Int128, Uint128>>;

template <std::integral T>
constexpr T saturate(Wide<T> value) {
  constexpr Wide<T> low = std::numeric_limits<T>::min();
  constexpr Wide<T> high = std::numeric_limits<T>::max();
  return static_cast<T>(value < low ? low : (value > high ? high : value));
}

template <std::integral T>
constexpr T divide(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  if (b == 0) return static_cast<T>(~Unsigned{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(Unsigned{0} - static_cast<Unsigned>(a));
  }
  return static_cast<T>(a / b);
}

template <std::integral T>
constexpr T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <BinaryOp op, std::integral T>
constexpr auto integer_binary(T a, T b) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned kWidth = std::numeric_limits<U>::digits;
  const U ua = static_cast<U>(a);
  const U ub = static_cast<U>(b);
  const auto count = static_cast<unsigned>(ub & (kWidth - 1));
  if constexpr (op == BinaryOp::Add || op == BinaryOp::WrappingAdd) return static_cast<T>(ua + ub);
  if constexpr (op == BinaryOp::Sub || op == BinaryOp::WrappingSub) return static_cast<T>(ua - ub);
  if constexpr (op == BinaryOp::Mul) return static_cast<T>(ua * ub);
  if constexpr (op == BinaryOp::Div) return divide(a, b);
  if constexpr (op == BinaryOp::Mod) return remainder(a, b);
  if constexpr (op == BinaryOp::MulHigh) {
    return static_cast<T>((static_cast<Wide<T>>(a) * static_cast<Wide<T>>(b)) >> kWidth);
  }
  if constexpr (op == BinaryOp::BitAnd) return static_cast<T>(ua & ub);
  if constexpr (op == BinaryOp::BitOr) return static_cast<T>(ua | ub);
  if constexpr (op == BinaryOp::BitXor) return static_cast<T>(ua ^ ub);
  if constexpr (op == BinaryOp::Shl) return static_cast<T>(ua << count);
  if constexpr (op == BinaryOp::Shr) return static_cast<T>(a >> count);
  if constexpr (op == BinaryOp::RotateLeft) return static_cast<T>(std::rotl(ua, int(count)));
  if constexpr (op == BinaryOp::RotateRight) return static_cast<T>(std::rotr(ua, int(count)));
  if constexpr (op == BinaryOp::Min) return b < a ? b : a;
  if constexpr (op == BinaryOp::Max) return a < b ? b : a;
  if constexpr (op == BinaryOp::AbsDiff) return static_cast<U>(a < b ? ub - ua : ua - ub);
  using W = Wide<T>;
  if constexpr (op == BinaryOp::SaturatingAdd) {
    // Unsigned sums need no wider type, and signed sums fit this one.
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(ua + ub < ua ? std::numeric_limits<T>::max() : ua + ub);
    } else {
      return saturate<T>(static_cast<W>(a) + static_cast<W>(b));
    }
  }
  if constexpr (op == BinaryOp::SaturatingSub) {
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(a < b ? 0 : ua - ub);
    } else {
      return saturate<T>(static_cast<W>(a) - static_cast<W>(b));
    }
  }
  if constexpr (op == BinaryOp::SaturatingMul) {
    return saturate<T>(static_cast<W>(a) * static_cast<W>(b));
  }
}

template <BinaryOp op, std::floating_point T>
constexpr T float_binary(T a, T b) {
  if constexpr (op == BinaryOp::Add) return exact_add(a, b);
  if constexpr (op == BinaryOp::Sub) return exact_sub(a, b);
  if constexpr (op == BinaryOp::Mul) return exact_mul(a, b);
  if constexpr (op == BinaryOp::Div) return exact_div(a, b);
  if constexpr (op == BinaryOp::Min) return exact_min(a, b);
  if constexpr (op == BinaryOp::Max) return exact_max(a, b);
}

template <std::integral T>
constexpr T reverse_bits(T value) {
  using U = std::make_unsigned_t<T>;
  U v = static_cast<U>(value);
  U result = 0;
  for (int i = 0; i < std::numeric_limits<U>::digits; ++i) {
    result = static_cast<U>((result << 1) | (v & 1));
    v = static_cast<U>(v >> 1);
  }
  return static_cast<T>(result);
}

template <UnaryOp op, std::integral T>
constexpr auto integer_unary(T a) {
  using U = std::make_unsigned_t<T>;
  const U u = static_cast<U>(a);
  if constexpr (op == UnaryOp::Negate) return static_cast<T>(U{0} - u);
  if constexpr (op == UnaryOp::BitNot) return static_cast<T>(~u);
  if constexpr (op == UnaryOp::Popcount) return static_cast<std::uint32_t>(std::popcount(u));
  if constexpr (op == UnaryOp::Clz) return static_cast<std::uint32_t>(std::countl_zero(u));
  if constexpr (op == UnaryOp::Ctz) return static_cast<std::uint32_t>(std::countr_zero(u));
  if constexpr (op == UnaryOp::ReverseBits) return reverse_bits(a);
  if constexpr (op == UnaryOp::Abs) return static_cast<T>(a < 0 ? U{0} - u : u);
  if constexpr (op == UnaryOp::Sign) return static_cast<T>((a > 0) - (a < 0));
  if constexpr (op == UnaryOp::Unpack4Low) return static_cast<T>(u & 0xF);
  if constexpr (op == UnaryOp::Unpack4High) return static_cast<T>((u >> 4) & 0xF);
  if constexpr (op == UnaryOp::Unpack8Low) return static_cast<T>(u & 0xFF);
  if constexpr (op == UnaryOp::Unpack8High) return static_cast<T>((u >> 24) & 0xFF);
}

template <UnaryOp op, std::floating_point T>
T float_unary(T a) {
  if constexpr (op == UnaryOp::Negate) return exact_negate(a);
  if constexpr (op == UnaryOp::Abs) return exact_abs(a);
  if constexpr (op == UnaryOp::Sign) return exact_sign(a);
  if constexpr (op == UnaryOp::Floor) return exact_floor(a);
  if constexpr (op == UnaryOp::Ceil) return exact_ceil(a);
  if constexpr (op == UnaryOp::Round) return exact_round(a);
  if constexpr (op == UnaryOp::Trunc) return exact_trunc(a);
  if constexpr (op == UnaryOp::Sqrt) return exact_sqrt(a);
  if constexpr (op == UnaryOp::InverseSqrt) return exact_inverse_sqrt(a);
  if constexpr (op == UnaryOp::Reciprocal) return exact_reciprocal(a);
  if constexpr (std::is_same_v<T, float>) {
#define FELSITE_EVALUATE_FUNCTION(Name, name) \
  if constexpr (op == UnaryOp::Name) return exact_##name(a);
    FELSITE_EACH_FUNCTION(FELSITE_EVALUATE_FUNCTION)
#undef FELSITE_EVALUATE_FUNCTION
  }
}

}  // namespace detail

// An operation that is in the table but missing here gives `void`, and the lane loops that store
// its value do not compile.
template <BinaryOp op, Type type>
constexpr auto evaluate(Lane<type> a, Lane<type> b) {
  if constexpr (op == BinaryOp::Eq)
    return static_cast<std::uint32_t>(a == b);
  else if constexpr (op == BinaryOp::Ne)
    return static_cast<std::uint32_t>(a != b);
  else if constexpr (op == BinaryOp::Lt)
    return static_cast<std::uint32_t>(a < b);
  else if constexpr (op == BinaryOp::Gt)
    return static_cast<std::uint32_t>(a > b);
  else if constexpr (op == BinaryOp::Le)
    return static_cast<std::uint32_t>(a <= b);
  else if constexpr (op == BinaryOp::Ge)
    return static_cast<std::uint32_t>(a >= b);
  else if constexpr (op == BinaryOp::And)
    return a & b;
  else if constexpr (op == BinaryOp::Or)
    return a | b;
  else if constexpr (kIsFloat<type>)
    return round_to_type<type>(detail::float_binary<op>(a, b));
  else
    return detail::integer_binary<op>(a, b);
}

template <UnaryOp op, Type type>
constexpr auto evaluate(Lane<type> a) {
  if constexpr (op == UnaryOp::LogicalNot)
    return a ^ 1u;
  else if constexpr (op == UnaryOp::IsNan)
    return static_cast<std::uint32_t>(a != a);
  else if constexpr (op == UnaryOp::IsInf) {
    return static_cast<std::uint32_t>(exact_abs(a) > std::numeric_limits<Lane<type>>::max());
  } else if constexpr (op == UnaryOp::IsFinite) {
    return static_cast<std::uint32_t>(exact_abs(a) <= std::numeric_limits<Lane<type>>::max());
  } else if constexpr (kIsFloat<type>)
    return round_to_type<type>(detail::float_unary<op>(a));
  else
    return detail::integer_unary<op>(a);
}

template <Type type>
Lane<type> evaluate_fma(Lane<type> a, Lane<type> b, Lane<type> c) {
  return round_to_type<type>(exact_fma(a, b, c));
}

// The bits of one element in a buffer.
template <Type type>
using Element = std::conditional_t<
    ir::info(type).bytes == 8, std::uint64_t,
    std::conditional_t<ir::info(type).bytes == 4, std::uint32_t,
                       std::conditional_t<ir::info(type).bytes == 2, std::uint16_t, std::uint8_t>>>;

// The value that a load of these bits gives, and the bits that a store of a lane leaves; both are
// canonical.
template <Type type>
constexpr Lane<type> lane_from_element(Element<type> bits) {
  if constexpr (type == Type::Bool)
    return bits != 0 ? 1u : 0u;
  else if constexpr (type == Type::I8)
    return static_cast<std::int8_t>(bits);
  else if constexpr (type == Type::I16)
    return static_cast<std::int16_t>(bits);
  else if constexpr (type == Type::F16)
    return f16_to_f32(bits);
  else if constexpr (type == Type::BF16)
    return bf16_to_f32(bits);
  else if constexpr (kIsFloat<type>)
    return canonical(std::bit_cast<Lane<type>>(bits));
  else
    return static_cast<Lane<type>>(bits);
}

template <Type type>
constexpr Element<type> element_from_lane(Lane<type> value) {
  if constexpr (type == Type::F16)
    return f32_to_f16(value);
  else if constexpr (type == Type::BF16)
    return f32_to_bf16(value);
  else if constexpr (kIsFloat<type>)
    return std::bit_cast<Element<type>>(value);
  else
    return static_cast<Element<type>>(value);
}

namespace detail {

// The C type with the range of an integer type; lanes of narrow types are wider than it.
template <Type type>
using RangeOf = std::conditional_t<ir::info(type).kind == ir::TypeClass::Signed,
                                   std::make_signed_t<Element<type>>, Element<type>>;

}  // namespace detail

template <Type from, Type to>
constexpr Lane<to> evaluate_cast(Lane<from> value) {
  if constexpr (to == Type::Bool) {
    return value != 0 ? 1u : 0u;
  } else if constexpr (kIsFloat<from> && kIsFloat<to>) {
    if constexpr (from == to)
      return value;
    else if constexpr (to == Type::F16)
      return round_to_f16(value);
    else if constexpr (to == Type::BF16)
      return round_to_bf16(value);
    else if constexpr (to == Type::F64)
      return f32_to_f64(value);
    else if constexpr (from == Type::F64)
      return double_to_f32(value);
    else
      return value;
  } else if constexpr (kIsFloat<from>) {
    return static_cast<Lane<to>>(saturating_cast<detail::RangeOf<to>>(value));
  } else if constexpr (to == Type::F16) {
    return integer_to_f16(value);
  } else if constexpr (to == Type::BF16) {
    return integer_to_bf16(value);
  } else if constexpr (to == Type::F32) {
    return integer_to_f32(value);
  } else if constexpr (to == Type::F64) {
    return integer_to_f64(value);
  } else {
    return static_cast<Lane<to>>(static_cast<detail::RangeOf<to>>(value));
  }
}

template <Type from, Type to>
constexpr Lane<to> evaluate_bitcast(Lane<from> value) {
  return lane_from_element<to>(std::bit_cast<Element<to>>(element_from_lane<from>(value)));
}

}  // namespace felsite::arithmetic
