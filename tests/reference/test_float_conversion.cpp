#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "arithmetic/exact_float.h"
#include "reference/float_values.h"
#include "reference/rational_model.h"

namespace {

using namespace felsite::arithmetic;
using namespace felsite::test;

// The true value of a finite half pattern, from its fields.
double half_value(std::uint16_t half, int fraction_bits, int bias) {
  const int exponent = (half & 0x7FFF) >> fraction_bits;
  const int fraction = half & ((1 << fraction_bits) - 1);
  const int significand = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
  const int scale = (exponent == 0 ? 1 : exponent) - bias - fraction_bits;
  return std::ldexp(half >= 0x8000 ? -significand : significand, scale);
}

template <class T>
float true_narrow(T x, const ModelFormat& format) {
  if (x != x) return canonical_nan<float>();
  if (std::isinf(x) || x == 0) return static_cast<float>(x);
  return static_cast<float>(encode(decode(x), format));
}

template <class Int>
float true_from_integer(Int value, const ModelFormat& format) {
  const bool negative = value < 0;
  const auto wide = static_cast<std::uint64_t>(value);
  const Model model{negative, negative ? 0 - wide : wide, 0};
  return static_cast<float>(encode(model, format));
}

// Integers of every magnitude, many of them near a tie of some precision.
template <class Int>
Int random_integer(std::mt19937_64& random) {
  const auto bits = static_cast<Int>(random());
  const auto shift = static_cast<int>(random() % (sizeof(Int) * 8));
  const auto shorter = static_cast<Int>(bits >> shift);
  if (random() % 2 == 0) return shorter;
  const auto zeroed = static_cast<int>(random() % (sizeof(Int) * 8));
  const auto tie = static_cast<Int>((shorter >> zeroed) << zeroed);
  return static_cast<Int>(static_cast<std::uint64_t>(tie) + random() % 3 - 1);
}

template <class Int>
void check_integer_casts(std::uint64_t seed) {
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const Int value = random_integer<Int>(random);
    CAPTURE(value);
    REQUIRE(same(integer_to_f32(value), true_from_integer(value, kModelF32)));
    REQUIRE(same(integer_to_f16(value), true_from_integer(value, kModelF16)));
    REQUIRE(same(integer_to_bf16(value), true_from_integer(value, kModelBf16)));
  }
}

// long double holds every 64-bit integer and every double here exactly.
template <class Int, class T>
Int true_cast(T x) {
  const auto truncated = std::trunc(static_cast<long double>(x));
  if (truncated != truncated) return 0;
  if (truncated >= static_cast<long double>(std::numeric_limits<Int>::max())) {
    return std::numeric_limits<Int>::max();
  }
  if (truncated <= static_cast<long double>(std::numeric_limits<Int>::min())) {
    return std::numeric_limits<Int>::min();
  }
  return static_cast<Int>(truncated);
}

template <class T>
void check_saturating_casts(std::uint64_t seed) {
  CAPTURE(seed);
  OperandSource<T> source(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const T x = i % 2 == 0 ? source.next() : static_cast<T>(random_integer<std::int64_t>(random));
    CAPTURE(x);
    REQUIRE(saturating_cast<std::uint32_t>(x) == true_cast<std::uint32_t>(x));
    REQUIRE(saturating_cast<std::int32_t>(x) == true_cast<std::int32_t>(x));
    REQUIRE(saturating_cast<std::uint64_t>(x) == true_cast<std::uint64_t>(x));
    REQUIRE(saturating_cast<std::int64_t>(x) == true_cast<std::int64_t>(x));
  }
}

}  // namespace

TEST_CASE("all f16 patterns have their value in f32 and come back") {
  for (std::uint32_t pattern = 0; pattern < 0x1'0000U; ++pattern) {
    const auto half = static_cast<std::uint16_t>(pattern);
    CAPTURE(half);
    const std::uint32_t magnitude = pattern & 0x7FFFU;
    const float value = f16_to_f32(half);
    if (magnitude > 0x7C00U) {
      REQUIRE(same(value, canonical_nan<float>()));
      REQUIRE(f32_to_f16(value) == 0x7E00U);
    } else {
      const double expected =
          magnitude == 0x7C00U ? (half >= 0x8000 ? -kInf : kInf) : half_value(half, 10, 15);
      REQUIRE(static_cast<double>(value) == expected);
      REQUIRE(std::signbit(value) == (half >= 0x8000));
      REQUIRE(f32_to_f16(value) == half);
    }
  }
}

TEST_CASE("all bf16 patterns have their value in f32 and come back, subnormals as zeros") {
  for (std::uint32_t pattern = 0; pattern < 0x1'0000U; ++pattern) {
    const auto half = static_cast<std::uint16_t>(pattern);
    CAPTURE(half);
    const std::uint32_t magnitude = pattern & 0x7FFFU;
    const float value = bf16_to_f32(half);
    if (magnitude > 0x7F80U) {
      REQUIRE(same(value, canonical_nan<float>()));
      REQUIRE(f32_to_bf16(value) == 0x7FC0U);
    } else if (magnitude < 0x0080U) {
      REQUIRE(same(value, half >= 0x8000 ? -0.0F : 0.0F));
      REQUIRE(f32_to_bf16(value) == (half & 0x8000U));
    } else {
      const double expected =
          magnitude == 0x7F80U ? (half >= 0x8000 ? -kInf : kInf) : half_value(half, 7, 127);
      REQUIRE(static_cast<double>(value) == expected);
      REQUIRE(f32_to_bf16(value) == half);
    }
  }
}

TEST_CASE("f32 to f16 rounds to nearest even at and beside every tie") {
  for (std::uint32_t pattern = 0; pattern < 0x7C00U; ++pattern) {
    const double low = half_value(static_cast<std::uint16_t>(pattern), 10, 15);
    const double high =
        pattern == 0x7BFFU ? 65536.0 : half_value(static_cast<std::uint16_t>(pattern + 1), 10, 15);
    const auto tie = static_cast<float>((low + high) / 2);
    const auto even = static_cast<std::uint16_t>(pattern + (pattern & 1U));
    REQUIRE(f32_to_f16(tie) == even);
    REQUIRE(f32_to_f16(std::nextafter(tie, 0.0F)) == pattern);
    REQUIRE(f32_to_f16(std::nextafter(tie, kInf)) == pattern + 1);
    REQUIRE(f32_to_f16(-tie) == (even | 0x8000U));
  }
}

TEST_CASE("f16 overflows at 65520 and keeps its subnormals") {
  CHECK(f32_to_f16(65519.996F) == 0x7BFFU);
  CHECK(f32_to_f16(65520.0F) == 0x7C00U);
  CHECK(f32_to_f16(-0x1.fffffep127F) == 0xFC00U);
  CHECK(f32_to_f16(kInf) == 0x7C00U);
  CHECK(f32_to_f16(0x1p-24F) == 0x0001U);
  CHECK(f32_to_f16(0x1p-25F) == 0x0000U);
  CHECK(f32_to_f16(0x1.000002p-25F) == 0x0001U);
  CHECK(f32_to_f16(-0x1p-126F) == 0x8000U);
  CHECK(f32_to_f16(0x1.ffcp-15F) == 0x0400U);
}

TEST_CASE("f32 to bf16 agrees with the model at and beside every tie") {
  for (std::uint32_t pattern = 0x0080U; pattern < 0x7F80U; ++pattern) {
    for (const std::uint32_t low : {0U, 1U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU}) {
      const auto x = std::bit_cast<float>((pattern << 16) | low);
      const float expected = true_narrow(x, kModelBf16);
      REQUIRE(same(round_to_bf16(x), expected));
      REQUIRE(same(round_to_bf16(-x), -expected));
    }
  }
  CHECK(f32_to_bf16(0x1.fffffep127F) == 0x7F80U);
  CHECK(f32_to_bf16(std::bit_cast<float>(0x007F'FFFFU)) == 0x0000U);
}

TEST_CASE("doubles are rounded once to f32, f16 and bf16") {
  const std::uint64_t seed = 2001;
  CAPTURE(seed);
  OperandSource<double> source(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 300'000; ++i) {
    // Half of them in the range of f16, so that not all overflow.
    const double any = source.next();
    int unused = 0;
    const double scaled =
        std::ldexp(std::frexp(any, &unused), static_cast<int>(random() % 50) - 30);
    const double x = i % 2 == 0 ? any : with_canonical_nan(scaled);
    CAPTURE(x);
    REQUIRE(same(double_to_f32(x), true_narrow(x, kModelF32)));
    REQUIRE(same(round_to_f16(x), true_narrow(x, kModelF16)));
    REQUIRE(same(round_to_bf16(x), true_narrow(x, kModelBf16)));
  }
}

TEST_CASE("doubles to f32: flush, tie and overflow at the ends of the range") {
  CHECK(same(double_to_f32(0x1p-126 - 0x1p-150), 0.0F));
  CHECK(same(double_to_f32(0x1p-126 - 0x1p-151), 0x1p-126F));
  CHECK(same(double_to_f32(0x1p-126 - 0x1.0000001p-151), 0.0F));
  CHECK(same(double_to_f32(-(0x1p-126 - 0x1p-150)), -0.0F));
  CHECK(same(double_to_f32(0x1p128 - 0x1p103), kInf));
  CHECK(same(double_to_f32(0x1p128 - 0x1.0000001p103), 0x1.fffffep127F));
  CHECK(same(double_to_f32(-0x1p-1022), -0.0F));
  CHECK(same(double_to_f32(std::bit_cast<double>(0xFFF0'0000'0000'0001U)), canonical_nan<float>()));
}

TEST_CASE("doubles to f16 and bf16 do not go through f32") {
  // Each lies just above a tie, by less than f32 can represent.
  const double f16_case = 1.0 + 0x1p-11 + 0x1p-40;
  CHECK(same(round_to_f16(f16_case), 1.0F + 0x1p-10F));
  CHECK(same(round_to_f16(static_cast<float>(f16_case)), 1.0F));
  const double bf16_case = 1.0 + 0x1p-8 + 0x1p-40;
  CHECK(same(round_to_bf16(bf16_case), 1.0F + 0x1p-7F));
  CHECK(same(round_to_bf16(static_cast<float>(bf16_case)), 1.0F));
  const double f16_subnormal = 0x1p-25 + 0x1p-60;
  CHECK(same(round_to_f16(f16_subnormal), 0x1p-24F));
}

TEST_CASE("doubles to bf16 flush by the rounding to 8 bits") {
  CHECK(same(round_to_bf16(0x1p-126 - 0x1p-135), 0x1p-126F));  // a tie, to even
  CHECK(same(round_to_bf16(0x1p-126 - 0x1p-134), 0.0F));
  CHECK(same(round_to_bf16(-0x1.fcp-127), -0.0F));
  CHECK(same(round_to_bf16(0x1p128 - 0x1p119), kInf));
}

TEST_CASE("f32 to f64 is exact, and subnormals and NaNs come out canonical") {
  CHECK(same(f32_to_f64(0x1.234568p-100F), 0x1.234568p-100));
  CHECK(same(f32_to_f64(std::bit_cast<float>(0x8000'0001U)), -0.0));
  CHECK(same(f32_to_f64(std::bit_cast<float>(0xFF80'0001U)), canonical_nan<double>()));
}

TEST_CASE("32-bit integers become f32, f16 and bf16 with one rounding") {
  check_integer_casts<std::uint32_t>(2002);
  check_integer_casts<std::int32_t>(2003);
}

TEST_CASE("64-bit integers become f32, f16 and bf16 with one rounding") {
  check_integer_casts<std::uint64_t>(2004);
  check_integer_casts<std::int64_t>(2005);
}

TEST_CASE("integers to bf16 are not rounded to f32 first") {
  CHECK(integer_to_bf16(0x8080'0001U) == 0x1.02p31F);
  CHECK(round_to_bf16(integer_to_f32(0x8080'0001U)) == 0x1p31F);
  CHECK(integer_to_bf16(std::int64_t{-0x4040'0000'0000'0001}) == -0x1.02p62F);
  CHECK(integer_to_bf16(~std::uint64_t{0}) == 0x1p64F);
}

TEST_CASE("integers to f16 overflow to infinity from 65520 on") {
  CHECK(integer_to_f16(65519) == 65504.0F);
  CHECK(integer_to_f16(65520U) == kInf);
  CHECK(integer_to_f16(std::numeric_limits<std::int64_t>::min()) == -kInf);
  CHECK(integer_to_f16(2049) == 2048.0F);
}

TEST_CASE("integers to f64 are correctly rounded") {
  CHECK(integer_to_f64((std::uint64_t{1} << 53) + 1) == 0x1p53);
  CHECK(integer_to_f64((std::uint64_t{1} << 53) + 3) == 0x1p53 + 4);
  CHECK(integer_to_f64(~std::uint64_t{0}) == 0x1p64);
  CHECK(integer_to_f64(std::numeric_limits<std::int64_t>::min()) == -0x1p63);
  CHECK(same(integer_to_f64(0), 0.0));
}

TEST_CASE("float to integer truncates and saturates like a wide conversion") {
  check_saturating_casts<float>(2006);
  check_saturating_casts<double>(2007);
}

TEST_CASE("float to integer at the limits, infinities and NaN") {
  CHECK(saturating_cast<std::uint32_t>(0x1p32F) == 0xFFFF'FFFFU);
  CHECK(saturating_cast<std::uint32_t>(0x1.fffffep31F) == 0xFFFF'FF00U);
  CHECK(saturating_cast<std::uint32_t>(-0.99F) == 0U);
  CHECK(saturating_cast<std::int32_t>(-0x1p31F) == std::numeric_limits<std::int32_t>::min());
  CHECK(saturating_cast<std::int32_t>(2147483647.5) == 2147483647);
  CHECK(saturating_cast<std::int64_t>(kInf) == std::numeric_limits<std::int64_t>::max());
  CHECK(saturating_cast<std::int64_t>(-kInf) == std::numeric_limits<std::int64_t>::min());
  CHECK(saturating_cast<std::uint64_t>(canonical_nan<float>()) == 0U);
  CHECK(saturating_cast<std::int32_t>(canonical_nan<double>()) == 0);
  CHECK(saturating_cast<std::int32_t>(-1.999F) == -1);
}
