// Float operations against wider host arithmetic, rounded once by hand (float_truth.h).
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "arithmetic/kernels.h"
#include "felsite/literal.h"
#include "felsite/ops.h"
#include "support/float_truth.h"

namespace {

using namespace felsite::ir;
using felsite::arithmetic::binary_kernel;
using felsite::arithmetic::bits_from_lane;
using felsite::arithmetic::fma_kernel;
using felsite::arithmetic::lane_from_bits;
using felsite::arithmetic::unary_kernel;
using felsite::truth::decoded;
using felsite::truth::encoded;
using felsite::truth::rounded;

constexpr std::uint64_t kFloatSeed = 0x5EED'0002;
constexpr Type kFloats[] = {Type::F16, Type::BF16, Type::F32, Type::F64};
const long double kWideInf = std::numeric_limits<long double>::infinity();
const long double kWideNan = std::numeric_limits<long double>::quiet_NaN();

std::uint64_t binary_bits(BinaryOp op, Type type, std::uint64_t a, std::uint64_t b) {
  std::uint64_t la = 0;
  std::uint64_t lb = 0;
  std::uint64_t result = 0;
  lane_from_bits(type, a, &la);
  lane_from_bits(type, b, &lb);
  binary_kernel(op, type)(&result, &la, &lb, 1);
  const Type to = result_type(info(op).rule, type);
  return bits_from_lane(to, &result);
}

std::uint64_t unary_bits(UnaryOp op, Type type, std::uint64_t a) {
  std::uint64_t la = 0;
  std::uint64_t result = 0;
  lane_from_bits(type, a, &la);
  unary_kernel(op, type)(&result, &la, 1);
  const Type to = result_type(info(op).rule, type);
  return bits_from_lane(to, &result);
}

std::uint64_t fma_bits(Type type, long double a, long double b, long double c) {
  std::uint64_t lanes[4] = {};
  const long double values[3] = {a, b, c};
  for (int i = 0; i < 3; ++i) lane_from_bits(type, encoded(values[i], type), &lanes[i]);
  fma_kernel(type)(&lanes[3], &lanes[0], &lanes[1], &lanes[2], 1);
  return bits_from_lane(type, &lanes[3]);
}

// Canonical element bits: corners of the format, and random ones of every magnitude.
std::vector<std::uint64_t> interesting_floats(Type type) {
  const auto format = felsite::truth::format_of(type);
  const long double ulp = std::ldexp(1.0L, 1 - format.precision);
  const long double least = std::ldexp(1.0L, format.least_exponent);
  const long double largest = std::ldexp(2.0L - ulp, format.top_exponent - 1);
  std::vector<long double> values{0,
                                  0.5L,
                                  1,
                                  1 + ulp,
                                  1 - ulp / 2,
                                  1.5L,
                                  2,
                                  2.5L,
                                  3,
                                  7,
                                  1.0L / 3,
                                  3.14159265L,
                                  0.1L,
                                  100,
                                  least,
                                  least * 1.5L,
                                  least * (1 + ulp),
                                  least * 2,
                                  largest,
                                  largest * 0.75L,
                                  1 / least / 4,
                                  std::sqrt(least),
                                  std::sqrt(largest),
                                  1 / ulp,
                                  0.5L / ulp,
                                  0.5L / ulp + 0.5L,
                                  0.5L - ulp / 4,
                                  kWideInf};
  std::vector<std::uint64_t> bits{encoded(kWideNan, type)};
  for (const long double value : values) {
    bits.push_back(encoded(rounded(value, type), type));
    bits.push_back(encoded(rounded(-value, type), type));
  }
  std::mt19937_64 random(kFloatSeed);
  const std::uint64_t mask =
      info(type).bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << info(type).bytes * 8) - 1;
  for (int i = 0; i < 60; ++i) bits.push_back(felsite::truth::canonical(random() & mask, type));
  return bits;
}

__extension__ using Quad = __float128;
__extension__ using QuadBits = unsigned __int128;

// Rounds to 53 bits, unbounded; f64 then decides about range and flush. 113 bits are enough for
// this second rounding to be harmless.
long double once_rounded(Quad x) {
  QuadBits bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  const QuadBits odd = bits >> 60 & 1;
  bits = (bits + ((QuadBits{1} << 59) - 1 + odd)) >> 60 << 60;
  std::memcpy(&x, &bits, sizeof x);
  return rounded(static_cast<long double>(x), Type::F64);
}

long double basic(BinaryOp op, long double a, long double b, Type type) {
  const bool special =
      std::isnan(a) || std::isnan(b) || std::isinf(a) || std::isinf(b) || b == 0 || a == 0;
  if (type == Type::F64 && !special) {
    const Quad qa = static_cast<Quad>(a);
    const Quad qb = static_cast<Quad>(b);
    if (op == BinaryOp::Add && a == -b) return 0;
    if (op == BinaryOp::Sub && a == b) return 0;
    if (op == BinaryOp::Add) return once_rounded(qa + qb);
    if (op == BinaryOp::Sub) return once_rounded(qa - qb);
    if (op == BinaryOp::Mul) return once_rounded(qa * qb);
    return once_rounded(qa / qb);
  }
  long double exact = op == BinaryOp::Add   ? a + b
                      : op == BinaryOp::Sub ? a - b
                      : op == BinaryOp::Mul ? a * b
                                            : a / b;
  if (type != Type::F64) exact = rounded(exact, Type::F32);  // narrow types compute in f32
  return rounded(exact, type);
}

void check_basic(BinaryOp op) {
  for (const Type type : kFloats) {
    const auto values = interesting_floats(type);
    for (const std::uint64_t a : values) {
      for (const std::uint64_t b : values) {
        const std::uint64_t expected =
            encoded(basic(op, decoded(a, type), decoded(b, type), type), type);
        if (binary_bits(op, type, a, b) == expected) continue;
        CAPTURE(info(type).name);
        CAPTURE(kFloatSeed);
        CAPTURE(a);
        CAPTURE(b);
        CHECK(binary_bits(op, type, a, b) == expected);
      }
    }
  }
}

void check_unary(UnaryOp op, const std::function<long double(long double)>& exact) {
  for (const Type type : kFloats) {
    for (const std::uint64_t a : interesting_floats(type)) {
      CAPTURE(info(type).name);
      CAPTURE(kFloatSeed);
      CAPTURE(a);
      const long double value = exact(decoded(a, type));
      // Narrow types compute in f32.
      const long double wide = type == Type::F64 ? value : rounded(value, Type::F32);
      CHECK(unary_bits(op, type, a) == encoded(rounded(wide, type), type));
    }
  }
}

}  // namespace

TEST_CASE("float addition is correctly rounded and flushed") { check_basic(BinaryOp::Add); }
TEST_CASE("float subtraction is correctly rounded and flushed") { check_basic(BinaryOp::Sub); }
TEST_CASE("float multiplication is correctly rounded and flushed") { check_basic(BinaryOp::Mul); }
TEST_CASE("float division is correctly rounded and flushed") { check_basic(BinaryOp::Div); }

TEST_CASE("products and quotients next to the least normal number") {
  std::mt19937_64 random(kFloatSeed);
  for (const Type type : {Type::F32, Type::F64}) {
    const auto format = felsite::truth::format_of(type);
    for (int i = 0; i < 4000; ++i) {
      // Significands near 1 and 2 make many products that round to the least normal number.
      const auto significand = [&] {
        const long double ulp = std::ldexp(1.0L, 1 - format.precision);
        const auto steps = static_cast<long double>(random() % 16);
        return random() % 2 == 0 ? 1 + ulp * steps : 2 - ulp * (steps + 1);
      };
      const int half = format.least_exponent / 2;
      const long double a = std::ldexp(significand(), half - static_cast<int>(random() % 2));
      const long double b = std::ldexp(significand(), half);
      const std::uint64_t ea = encoded(a, type);
      const std::uint64_t eb = encoded(b, type);
      const std::uint64_t product = encoded(basic(BinaryOp::Mul, a, b, type), type);
      CAPTURE(i);
      CHECK(binary_bits(BinaryOp::Mul, type, ea, eb) == product);
      const long double large = std::ldexp(significand(), -half);
      const std::uint64_t quotient = encoded(basic(BinaryOp::Div, a, large, type), type);
      CHECK(binary_bits(BinaryOp::Div, type, ea, encoded(large, type)) == quotient);
    }
  }
}

TEST_CASE("the product that IEEE rounds up to the least normal number is zero") {
  // 2^-126 - 2^-150 from (1 - 2^-24) * 2^-126: gradual underflow would give 2^-126.
  const std::uint64_t almost_one = encoded(1 - 0x1p-24L, Type::F32);
  const std::uint64_t least = encoded(0x1p-126L, Type::F32);
  CHECK(binary_bits(BinaryOp::Mul, Type::F32, almost_one, least) == 0);
  CHECK(binary_bits(BinaryOp::Mul, Type::F32, almost_one | 0x8000'0000u, least) == 0x8000'0000u);
}

TEST_CASE("f16 keeps its subnormals, the other types flush theirs") {
  CHECK(binary_bits(BinaryOp::Mul, Type::F16, 0x0400, encoded(0.5L, Type::F16)) == 0x0200);
  CHECK(binary_bits(BinaryOp::Add, Type::F16, 0x0001, 0x0001) == 0x0002);
  CHECK(binary_bits(BinaryOp::Mul, Type::F16, 0x0001, encoded(0.5L, Type::F16)) == 0);
  CHECK(binary_bits(BinaryOp::Mul, Type::F16, 0x0003, encoded(0.5L, Type::F16)) == 0x0002);
  CHECK(binary_bits(BinaryOp::Mul, Type::BF16, 0x8080, encoded(0.5L, Type::BF16)) == 0x8000);
  CHECK(binary_bits(BinaryOp::Sub, Type::F32, 0x0080'0001, 0x0080'0000) == 0);
  CHECK(binary_bits(BinaryOp::Sub, Type::F64, 0x0010'0000'0000'0000, 0x0010'0000'0000'0001) ==
        0x8000'0000'0000'0000u);
}

TEST_CASE("square root and reciprocals, each step rounded") {
  for (const Type type : kFloats) {
    for (const std::uint64_t a : interesting_floats(type)) {
      CAPTURE(info(type).name);
      CAPTURE(a);
      const long double x = decoded(a, type);
      // sqrt of a double is correctly rounded on the host; the f32 ones through f64 as well.
      const Type wide = type == Type::F64 ? Type::F64 : Type::F32;
      const long double root =
          wide == Type::F64 ? std::sqrt(static_cast<double>(x)) : rounded(std::sqrt(x), Type::F32);
      CHECK(unary_bits(UnaryOp::Sqrt, type, a) == encoded(rounded(root, type), type));
      const long double one_over = basic(BinaryOp::Div, 1, x, type);
      CHECK(unary_bits(UnaryOp::Reciprocal, type, a) == encoded(one_over, type));
    }
  }
  for (const std::uint64_t a : interesting_floats(Type::F32)) {
    CAPTURE(a);
    const long double root = rounded(std::sqrt(decoded(a, Type::F32)), Type::F32);
    const long double expected = basic(BinaryOp::Div, 1, root, Type::F32);
    CHECK(unary_bits(UnaryOp::InverseSqrt, Type::F32, a) == encoded(expected, Type::F32));
  }
}

TEST_CASE("rounding to integers") {
  check_unary(UnaryOp::Floor, [](long double x) { return std::floor(x); });
  check_unary(UnaryOp::Ceil, [](long double x) { return std::ceil(x); });
  check_unary(UnaryOp::Trunc, [](long double x) { return std::trunc(x); });
  check_unary(UnaryOp::Round, [](long double x) {
    const long double whole = std::floor(std::fabs(x));
    const long double away = std::fabs(x) - whole >= 0.5L ? whole + 1 : whole;
    return std::isfinite(x) ? std::copysign(away, x) : x;
  });
}

TEST_CASE("negate, abs and sign") {
  check_unary(UnaryOp::Negate, [](long double x) { return -x; });
  check_unary(UnaryOp::Abs, [](long double x) { return std::fabs(x); });
  check_unary(UnaryOp::Sign, [](long double x) {
    return x > 0 ? 1 : x < 0 ? -1 : std::isnan(x) ? x : 0.0L;
  });
  for (const Type type : kFloats) {
    const std::uint64_t minus_zero = encoded(-0.0L, type);
    CHECK(unary_bits(UnaryOp::Sign, type, minus_zero) == 0);
    CHECK(unary_bits(UnaryOp::Negate, type, 0) == minus_zero);
    CHECK(unary_bits(UnaryOp::Negate, type, encoded(kWideNan, type)) == encoded(kWideNan, type));
  }
}

TEST_CASE("comparisons: unordered is false, but != is true") {
  for (const Type type : kFloats) {
    const auto values = interesting_floats(type);
    for (const std::uint64_t a : values) {
      for (const std::uint64_t b : values) {
        const long double x = decoded(a, type);
        const long double y = decoded(b, type);
        CAPTURE(info(type).name);
        CAPTURE(a);
        CAPTURE(b);
        const bool unordered = std::isnan(x) || std::isnan(y);
        CHECK(binary_bits(BinaryOp::Eq, type, a, b) == (!unordered && x == y));
        CHECK(binary_bits(BinaryOp::Ne, type, a, b) == (unordered || x != y));
        CHECK(binary_bits(BinaryOp::Lt, type, a, b) == (!unordered && x < y));
        CHECK(binary_bits(BinaryOp::Gt, type, a, b) == (!unordered && x > y));
        CHECK(binary_bits(BinaryOp::Le, type, a, b) == (!unordered && x <= y));
        CHECK(binary_bits(BinaryOp::Ge, type, a, b) == (!unordered && x >= y));
      }
    }
  }
}

TEST_CASE("min and max ignore one NaN and order the zeros") {
  const auto ordered = [](long double x, long double y, bool smaller) {
    if (std::isnan(x)) return y;
    if (std::isnan(y)) return x;
    if (x == 0 && y == 0) return std::signbit(x) == smaller ? x : y;
    return (x < y) == smaller ? x : y;
  };
  for (const Type type : kFloats) {
    const auto values = interesting_floats(type);
    for (const std::uint64_t a : values) {
      for (const std::uint64_t b : values) {
        CAPTURE(info(type).name);
        CAPTURE(a);
        CAPTURE(b);
        const long double x = decoded(a, type);
        const long double y = decoded(b, type);
        CHECK(binary_bits(BinaryOp::Min, type, a, b) == encoded(ordered(x, y, true), type));
        CHECK(binary_bits(BinaryOp::Max, type, a, b) == encoded(ordered(x, y, false), type));
      }
    }
    const std::uint64_t minus_zero = encoded(-0.0L, type);
    CHECK(binary_bits(BinaryOp::Min, type, 0, minus_zero) == minus_zero);
    CHECK(binary_bits(BinaryOp::Min, type, minus_zero, 0) == minus_zero);
    CHECK(binary_bits(BinaryOp::Max, type, 0, minus_zero) == 0);
    CHECK(binary_bits(BinaryOp::Max, type, minus_zero, 0) == 0);
    const std::uint64_t nan = encoded(kWideNan, type);
    CHECK(binary_bits(BinaryOp::Min, type, nan, nan) == nan);
    CHECK(binary_bits(BinaryOp::Max, type, nan, encoded(-kWideInf, type)) ==
          encoded(-kWideInf, type));
  }
}

TEST_CASE("is_nan, is_inf and is_finite differ") {
  for (const Type type : kFloats) {
    for (const std::uint64_t a : interesting_floats(type)) {
      const long double x = decoded(a, type);
      CHECK(unary_bits(UnaryOp::IsNan, type, a) == std::isnan(x));
      CHECK(unary_bits(UnaryOp::IsInf, type, a) == std::isinf(x));
      CHECK(unary_bits(UnaryOp::IsFinite, type, a) == std::isfinite(x));
    }
  }
}

TEST_CASE("every operation that makes a NaN makes the one of its type") {
  for (const Type type : kFloats) {
    const std::uint64_t nan = encoded(kWideNan, type);
    const std::uint64_t inf = encoded(kWideInf, type);
    CHECK(binary_bits(BinaryOp::Sub, type, inf, inf) == nan);
    CHECK(binary_bits(BinaryOp::Mul, type, inf, 0) == nan);
    CHECK(binary_bits(BinaryOp::Div, type, 0, 0) == nan);
    CHECK(binary_bits(BinaryOp::Div, type, inf, inf) == nan);
    CHECK(unary_bits(UnaryOp::Sqrt, type, encoded(-1.0L, type)) == nan);
    CHECK(unary_bits(UnaryOp::Sqrt, type, encoded(-0.0L, type)) == encoded(-0.0L, type));
    CHECK(fma_bits(type, kWideInf, 0, 1) == nan);
    CHECK(fma_bits(type, kWideInf, 1, -kWideInf) == nan);
  }
}

TEST_CASE("fma rounds once, where a multiply and an add round twice") {
  // (1 + e)(1 - e) - 1 = -e^2
  const long double e32 = 0x1p-20L;
  CHECK(fma_bits(Type::F32, 1 + e32, 1 - e32, -1) == encoded(-0x1p-40L, Type::F32));
  const long double e64 = 0x1p-40L;
  CHECK(fma_bits(Type::F64, 1 + e64, 1 - e64, -1) == encoded(-0x1p-80L, Type::F64));
  CHECK(fma_bits(Type::F32, 0x1p-100L, 0x1p-100L, 0x1p-126L) == encoded(0x1p-126L, Type::F32));
  CHECK(fma_bits(Type::F32, 0x1p-100L, -0x1p-100L, 0x1p-126L) == encoded(0x1p-126L, Type::F32));
  CHECK(fma_bits(Type::F32, 0x1p-75L, -0x1p-75L, 0x1p-126L) == 0);
  CHECK(fma_bits(Type::F32, 0x1p-75L, 0x1p-75L, -0x1p-126L) == 0x8000'0000u);
  CHECK(fma_bits(Type::F32, 2, 3, -6) == 0);
  CHECK(fma_bits(Type::F32, -2, 0, -0.0L) == 0x8000'0000u);
  CHECK(fma_bits(Type::F32, 0x1p100L, 0x1p100L, 1) == encoded(kWideInf, Type::F32));
}

TEST_CASE("fma agrees with the host's away from the flush") {
  std::mt19937_64 random(kFloatSeed);
  for (int i = 0; i < 20000; ++i) {
    const auto value = [&] {
      const auto significand = static_cast<long double>(random() >> 40 | 0x80'0000);
      return std::ldexp(random() % 2 == 0 ? significand : -significand,
                        static_cast<int>(random() % 60) - 50);
    };
    const long double a = value();
    const long double b = value();
    const long double c = random() % 3 == 0 ? rounded(-a * b, Type::F32) : value();
    CAPTURE(i);
    const float f32 = std::fma(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c));
    CHECK(fma_bits(Type::F32, a, b, c) == encoded(f32, Type::F32));
    const double f64 =
        std::fma(static_cast<double>(a), static_cast<double>(b), static_cast<double>(c));
    CHECK(fma_bits(Type::F64, a, b, c) == encoded(f64, Type::F64));
  }
}

TEST_CASE("fma of narrow floats computes in f32 and rounds to the type") {
  std::mt19937_64 random(kFloatSeed);
  for (const Type type : {Type::F16, Type::BF16}) {
    for (int i = 0; i < 4000; ++i) {
      long double v[3];
      for (long double& x : v) {
        x = rounded(std::ldexp(static_cast<long double>(random() % 4096) - 2048, -9), type);
      }
      const float wide =
          std::fma(static_cast<float>(v[0]), static_cast<float>(v[1]), static_cast<float>(v[2]));
      CHECK(fma_bits(type, v[0], v[1], v[2]) == encoded(rounded(wide, type), type));
    }
  }
}
