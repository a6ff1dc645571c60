// Scalars one at a time, as element bits, written from the contract's tables.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "arithmetic/exact_float.h"
#include "arithmetic/functions.h"
#include "felsite/ops.h"
#include "support/float_truth.h"

namespace felsite::naive {

using ir::AtomicOp;
using ir::BinaryOp;
using ir::Type;
using ir::UnaryOp;
using truth::Wide;

template <class T>
T real(Type type, std::uint64_t bits) {
  return static_cast<T>(truth::decoded(bits, type));
}
// A result in f32 or f64, brought to the type.
template <class T>
std::uint64_t from_real(Type type, T value) {
  return truth::encoded(truth::rounded(value, type), type);
}

inline Wide integer(Type type, std::uint64_t bits) {
  return static_cast<Wide>(truth::value_of(type, bits));
}
inline std::uint64_t wrapped(Type type, Wide value) {
  return static_cast<std::uint64_t>(value) & truth::mask_of(type);
}

template <class T>
std::uint64_t float_binary(BinaryOp op, Type type, std::uint64_t a, std::uint64_t b) {
  namespace exact = felsite::arithmetic;
  const T x = real<T>(type, a);
  const T y = real<T>(type, b);
  if (op == BinaryOp::Add) return from_real(type, exact::exact_add(x, y));
  if (op == BinaryOp::Sub) return from_real(type, exact::exact_sub(x, y));
  if (op == BinaryOp::Mul) return from_real(type, exact::exact_mul(x, y));
  if (op == BinaryOp::Div) return from_real(type, exact::exact_div(x, y));
  if (op == BinaryOp::Min) return from_real(type, exact::exact_min(x, y));
  if (op == BinaryOp::Max) return from_real(type, exact::exact_max(x, y));
  if (op == BinaryOp::Eq) return x == y;
  if (op == BinaryOp::Ne) return !(x == y);
  if (op == BinaryOp::Lt) return x < y;
  if (op == BinaryOp::Gt) return x > y;
  if (op == BinaryOp::Le) return x <= y;
  return x >= y;
}

inline Wide clamped(Type type, Wide value) {
  const Wide highest = static_cast<Wide>(truth::mask_of(type) >> (truth::is_signed(type) ? 1 : 0));
  const Wide lowest = truth::is_signed(type) ? -highest - 1 : 0;
  return value > highest ? highest : value < lowest ? lowest : value;
}

// u64 times u64 needs the unsigned 128 bits.
__extension__ using UnsignedWide = unsigned __int128;

inline std::uint64_t saturated_product(Type type, Wide x, Wide y) {
  if (truth::is_signed(type)) return wrapped(type, clamped(type, x * y));
  const UnsignedWide product = static_cast<UnsignedWide>(x) * static_cast<UnsignedWide>(y);
  return product > truth::mask_of(type) ? truth::mask_of(type)
                                        : static_cast<std::uint64_t>(product);
}

inline std::uint64_t high_product(Type type, Wide x, Wide y) {
  const unsigned width = truth::width_of(type);
  if (truth::is_signed(type)) return wrapped(type, (x * y) >> width);
  return static_cast<std::uint64_t>((static_cast<UnsignedWide>(x) * static_cast<UnsignedWide>(y)) >>
                                    width);
}

inline std::uint64_t binary(BinaryOp op, Type type, std::uint64_t a, std::uint64_t b) {
  if (type == Type::F64) return float_binary<double>(op, type, a, b);
  if (ir::is_float(type)) return float_binary<float>(op, type, a, b);
  const Wide x = integer(type, a);
  const Wide y = integer(type, b);
  const unsigned width = truth::width_of(type);
  const unsigned count = static_cast<unsigned>(b % width);
  const std::uint64_t mask = truth::mask_of(type);
  switch (op) {
    case BinaryOp::Add:
    case BinaryOp::WrappingAdd:
      return wrapped(type, x + y);
    case BinaryOp::Sub:
    case BinaryOp::WrappingSub:
      return wrapped(type, x - y);
    case BinaryOp::Mul:
      return a * b & mask;
    case BinaryOp::Div:
      return y == 0 ? mask : wrapped(type, x / y);
    case BinaryOp::Mod:
      return y == 0 ? 0 : wrapped(type, x % y);
    case BinaryOp::MulHigh:
      return high_product(type, x, y);
    case BinaryOp::BitAnd:
    case BinaryOp::And:
      return a & b;
    case BinaryOp::BitOr:
    case BinaryOp::Or:
      return a | b;
    case BinaryOp::BitXor:
      return a ^ b;
    case BinaryOp::Shl:
      return a << count & mask;
    case BinaryOp::Shr:
      return wrapped(type, x >> count);
    case BinaryOp::RotateLeft:
      return (a << count | (count == 0 ? 0 : a >> (width - count))) & mask;
    case BinaryOp::RotateRight:
      return (a >> count | (count == 0 ? 0 : a << (width - count))) & mask;
    case BinaryOp::Eq:
      return x == y;
    case BinaryOp::Ne:
      return x != y;
    case BinaryOp::Lt:
      return x < y;
    case BinaryOp::Gt:
      return x > y;
    case BinaryOp::Le:
      return x <= y;
    case BinaryOp::Ge:
      return x >= y;
    case BinaryOp::Min:
      return x < y ? a : b;
    case BinaryOp::Max:
      return x > y ? a : b;
    case BinaryOp::AbsDiff:
      return wrapped(type, x > y ? x - y : y - x);
    case BinaryOp::SaturatingAdd:
      return wrapped(type, clamped(type, x + y));
    case BinaryOp::SaturatingSub:
      return wrapped(type, clamped(type, x - y));
    case BinaryOp::SaturatingMul:
      return saturated_product(type, x, y);
  }
  return 0;
}

inline float function(UnaryOp op, float x) {
  namespace exact = felsite::arithmetic;
  if (op == UnaryOp::Sin) return exact::exact_sin(x);
  if (op == UnaryOp::Cos) return exact::exact_cos(x);
  if (op == UnaryOp::Tan) return exact::exact_tan(x);
  if (op == UnaryOp::Asin) return exact::exact_asin(x);
  if (op == UnaryOp::Acos) return exact::exact_acos(x);
  if (op == UnaryOp::Atan) return exact::exact_atan(x);
  if (op == UnaryOp::Sinh) return exact::exact_sinh(x);
  if (op == UnaryOp::Cosh) return exact::exact_cosh(x);
  if (op == UnaryOp::Tanh) return exact::exact_tanh(x);
  if (op == UnaryOp::Exp) return exact::exact_exp(x);
  if (op == UnaryOp::Exp2) return exact::exact_exp2(x);
  if (op == UnaryOp::Log) return exact::exact_log(x);
  return exact::exact_log2(x);
}

template <class T>
std::uint64_t float_unary(UnaryOp op, Type type, std::uint64_t bits) {
  namespace exact = felsite::arithmetic;
  const T x = real<T>(type, bits);
  if (op == UnaryOp::IsNan) return std::isnan(x);
  if (op == UnaryOp::IsInf) return std::isinf(x);
  if (op == UnaryOp::IsFinite) return std::isfinite(x);
  if (op == UnaryOp::Negate) return from_real(type, -x);
  if (op == UnaryOp::Abs) return from_real(type, std::fabs(x));
  if (op == UnaryOp::Sign)
    return from_real(type, x > 0 ? T{1} : x < 0 ? T{-1} : std::isnan(x) ? x : T{0});
  if (op == UnaryOp::Floor) return from_real(type, std::floor(x));
  if (op == UnaryOp::Ceil) return from_real(type, std::ceil(x));
  if (op == UnaryOp::Round) return from_real(type, std::round(x));
  if (op == UnaryOp::Trunc) return from_real(type, std::trunc(x));
  if (op == UnaryOp::Sqrt) return from_real(type, exact::exact_sqrt(x));
  if (op == UnaryOp::InverseSqrt)
    return from_real(type, exact::exact_div(T{1}, exact::exact_sqrt(x)));
  if (op == UnaryOp::Reciprocal) return from_real(type, exact::exact_div(T{1}, x));
  return from_real(type, function(op, static_cast<float>(x)));
}

inline std::uint64_t unary(UnaryOp op, Type type, std::uint64_t bits) {
  if (type == Type::F64) return float_unary<double>(op, type, bits);
  if (ir::is_float(type)) return float_unary<float>(op, type, bits);
  const Wide x = integer(type, bits);
  const unsigned width = truth::width_of(type);
  if (op == UnaryOp::LogicalNot) return bits ^ 1;
  if (op == UnaryOp::Negate) return wrapped(type, -x);
  if (op == UnaryOp::BitNot) return ~bits & truth::mask_of(type);
  if (op == UnaryOp::Popcount) return static_cast<std::uint64_t>(std::popcount(bits));
  if (op == UnaryOp::Clz) return static_cast<std::uint64_t>(std::countl_zero(bits)) - (64 - width);
  if (op == UnaryOp::Ctz)
    return bits == 0 ? width : static_cast<std::uint64_t>(std::countr_zero(bits));
  if (op == UnaryOp::Abs) return wrapped(type, x < 0 ? -x : x);
  if (op == UnaryOp::Sign) return wrapped(type, x > 0 ? 1 : x < 0 ? -1 : 0);
  if (op == UnaryOp::Unpack4Low) return bits & 15;
  if (op == UnaryOp::Unpack4High) return bits >> 4 & 15;
  if (op == UnaryOp::Unpack8Low) return bits & 255;
  if (op == UnaryOp::Unpack8High) return bits >> 24;
  std::uint64_t reversed = 0;
  for (unsigned i = 0; i < width; ++i) reversed |= (bits >> i & 1) << (width - 1 - i);
  return reversed;
}

inline std::uint64_t fma(Type type, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  namespace exact = felsite::arithmetic;
  if (type == Type::F64) {
    return from_real(type, exact::exact_fma(real<double>(type, a), real<double>(type, b),
                                            real<double>(type, c)));
  }
  return from_real(
      type, exact::exact_fma(real<float>(type, a), real<float>(type, b), real<float>(type, c)));
}

inline std::uint64_t atomic(AtomicOp op, Type type, std::uint64_t old, std::uint64_t value) {
  switch (op) {
    case AtomicOp::Add:
      return binary(BinaryOp::Add, type, old, value);
    case AtomicOp::Sub:
      return binary(BinaryOp::Sub, type, old, value);
    case AtomicOp::Or:
      return old | value;
    case AtomicOp::And:
      return old & value;
    case AtomicOp::Xor:
      return old ^ value;
    case AtomicOp::Min:
      return binary(BinaryOp::Min, type, old, value);
    case AtomicOp::Max:
      return binary(BinaryOp::Max, type, old, value);
    case AtomicOp::Exchange:
    case AtomicOp::CompareExchange:
      return value;
  }
  return 0;
}

}  // namespace felsite::naive
