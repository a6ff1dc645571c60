// An independent model of rounding, for the tests: numbers as integers times powers of two.
//
// Shares no formula with exact_float.h: no float arithmetic takes part in a rounding here.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace felsite::test {

__extension__ using U128 = unsigned __int128;

struct ModelFormat {
  int precision;
  int least_exponent;
  int greatest_exponent;
  bool keeps_subnormals;
};

inline constexpr ModelFormat kModelF32{24, -126, 127, false};
inline constexpr ModelFormat kModelF64{53, -1022, 1023, false};
inline constexpr ModelFormat kModelF16{11, -14, 15, true};
inline constexpr ModelFormat kModelBf16{8, -126, 127, false};

template <class T>
constexpr ModelFormat model_of() {
  return sizeof(T) == 4 ? kModelF32 : kModelF64;
}

// significand * 2^exponent. The lowest bit of a significand of many bits may stand for a rest.
struct Model {
  bool negative = false;
  U128 significand = 0;
  int exponent = 0;
};

inline int width_of(U128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  const auto low = static_cast<std::uint64_t>(value);
  const auto width = high != 0 ? 64 + std::bit_width(high) : std::bit_width(low);
  return static_cast<int>(width);
}

inline Model decode(double x) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(x), &exponent);
  const auto significand = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
  return {std::signbit(x), significand, exponent - 53};
}

// The one rounding: nearest, ties to even, then overflow and flush. Exact as a double.
inline double encode(const Model& value, const ModelFormat& format) {
  const double sign = value.negative ? -1.0 : 1.0;
  int dropped = width_of(value.significand) - format.precision;
  if (format.keeps_subnormals) {
    const int least = format.least_exponent - (format.precision - 1) - value.exponent;
    dropped = dropped > least ? dropped : least;
  }
  U128 kept = value.significand;
  if (dropped > 127) return sign * 0.0;
  if (dropped > 0) {
    kept = value.significand >> dropped;
    const U128 rest = value.significand - (kept << dropped);
    const U128 half = static_cast<U128>(1) << (dropped - 1);
    const bool up = rest > half || (rest == half && (kept & 1) != 0);
    kept += up ? 1 : 0;
  } else {
    dropped = 0;
  }
  if (kept == 0) return sign * 0.0;
  const int exponent = value.exponent + dropped;
  const int leading = exponent + width_of(kept) - 1;
  if (leading > format.greatest_exponent) return sign * std::numeric_limits<double>::infinity();
  if (leading < format.least_exponent && !format.keeps_subnormals) return sign * 0.0;
  return sign * std::ldexp(static_cast<double>(static_cast<std::uint64_t>(kept)), exponent);
}

// Leading bit to bit 125: room for a carry and for the other operand's bits.
inline Model normalised(Model value) {
  if (value.significand == 0) return value;
  const int shift = 126 - width_of(value.significand);
  value.significand <<= shift;
  value.exponent -= shift;
  return value;
}

// The sum of finite numbers, not both zero. What is shifted out of the smaller one stays as its
// lowest bit; that happens only where the operands differ by too much to cancel.
inline Model model_add(Model a, Model b) {
  if (b.significand == 0) return a;
  if (a.significand == 0) return b;
  a = normalised(a);
  b = normalised(b);
  const bool b_is_larger =
      b.exponent > a.exponent || (b.exponent == a.exponent && b.significand > a.significand);
  if (b_is_larger) std::swap(a, b);
  const int shift = a.exponent - b.exponent;
  const U128 aligned = shift > 127 ? 0 : b.significand >> shift;
  const bool lost = shift > 127 || (aligned << shift) != b.significand;
  const U128 jammed = aligned | (lost ? 1U : 0U);
  const U128 sum = a.negative == b.negative ? a.significand + jammed : a.significand - jammed;
  return {sum == 0 ? false : a.negative, sum, a.exponent};
}

inline Model model_mul(const Model& a, const Model& b) {
  return {a.negative != b.negative, a.significand * b.significand, a.exponent + b.exponent};
}

inline Model model_div(const Model& a, const Model& b) {
  const U128 numerator = a.significand << 74;
  const U128 quotient = numerator / b.significand;
  const U128 jammed = (quotient << 1) | (quotient * b.significand != numerator ? 1U : 0U);
  return {a.negative != b.negative, jammed, a.exponent - 75 - b.exponent};
}

// Bit by bit, of a number that is not negative.
inline Model model_sqrt(const Model& a) {
  const int shift = 70 + ((a.exponent - 70) & 1);
  const U128 square = a.significand << shift;
  U128 root = 0;
  for (int bit = 62; bit >= 0; --bit) {
    const U128 trial = root | (static_cast<U128>(1) << bit);
    if (trial * trial <= square) root = trial;
  }
  const U128 jammed = (root << 1) | (root * root != square ? 1U : 0U);
  return {false, jammed, (a.exponent - shift) / 2 - 1};
}

// Canonical operands of every kind: any bits, bits near the ends of the range, specials.
template <std::floating_point T>
class OperandSource {
 public:
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

  explicit OperandSource(std::uint64_t seed) : random_(seed) {}

  T next() {
    constexpr int kFraction = std::numeric_limits<T>::digits - 1;
    constexpr Bits kExponents = (Bits{1} << (sizeof(T) * 8 - 1 - kFraction)) - 1;
    const auto bits = static_cast<Bits>(random_());
    const auto kind = random_() % 16;
    if (kind == 0) return special(random_());
    const Bits fraction = bits & ((Bits{1} << kFraction) - 1);
    const Bits few_bits = fraction & ~((Bits{1} << (kFraction - 4)) - 1);
    const Bits exponent = kind < 8    ? random_exponent(1, kExponents - 1)
                          : kind < 12 ? random_exponent(kExponents / 2 - 30, kExponents / 2 + 30)
                                      : random_exponent(kExponents / 4 - 3, kExponents / 4 + 3);
    const Bits sign = bits & (Bits{1} << (sizeof(T) * 8 - 1));
    return std::bit_cast<T>(
        static_cast<Bits>(sign | (exponent << kFraction) | (kind % 3 == 0 ? few_bits : fraction)));
  }

  static const std::vector<T>& specials() {
    using Limits = std::numeric_limits<T>;
    static const std::vector<T> kSpecials = [] {
      std::vector<T> values{T{0}, T{1}, T{2}, T{0.5}, Limits::min(), Limits::max()};
      values.push_back(Limits::infinity());
      values.push_back(Limits::min() * T{1.5});
      values.push_back(T{1} - Limits::epsilon() / T{2});
      const auto count = values.size();
      for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
      values.push_back(Limits::quiet_NaN());
      return values;
    }();
    return kSpecials;
  }

 private:
  Bits random_exponent(Bits least, Bits greatest) {
    return least + static_cast<Bits>(random_() % (greatest - least + 1));
  }
  static T special(std::uint64_t index) { return specials()[index % specials().size()]; }

  std::mt19937_64 random_;
};

}  // namespace felsite::test
