#include <doctest/doctest.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "arithmetic/exact_float.h"
#include "reference/float_values.h"
#include "reference/rational_model.h"

namespace {

using namespace felsite::arithmetic;
using namespace felsite::test;

bool all_finite(double a, double b, double c) {
  return std::isfinite(a) && std::isfinite(b) && std::isfinite(c);
}

template <class T>
T rounded(const Model& model) {
  return static_cast<T>(encode(model, model_of<T>()));
}

// Sums of zero and operations on specials follow IEEE, which the hardware has; the model the rest.
template <class T>
T true_sum(T a, T b) {
  if (!all_finite(a, b, 0) || a + b == 0) return with_canonical_nan(a + b);
  return rounded<T>(model_add(decode(a), decode(b)));
}

template <class T>
T true_product(T a, T b) {
  if (!all_finite(a, b, 0) || a == 0 || b == 0) return with_canonical_nan(a * b);
  return rounded<T>(model_mul(decode(a), decode(b)));
}

template <class T>
T true_quotient(T a, T b) {
  if (!all_finite(a, b, 0) || a == 0 || b == 0) return with_canonical_nan(a / b);
  return rounded<T>(model_div(decode(a), decode(b)));
}

template <class T>
T true_fma(T a, T b, T c) {
  // An infinite or NaN addend decides alone, unless a factor is infinite or NaN too: the finite
  // product may not overflow to meet it.
  if (all_finite(a, b, 0) && !std::isfinite(c)) return with_canonical_nan(c);
  if (!all_finite(a, b, c)) return with_canonical_nan(a * b + c);
  if (a == 0 || b == 0) return true_sum(a * b, c);
  const Model sum = model_add(model_mul(decode(a), decode(b)), decode(c));
  return sum.significand == 0 ? T{0} : rounded<T>(sum);
}

template <class T, class Operation, class Truth>
void compare_pairs(std::uint64_t seed, int count, Operation operation, Truth truth) {
  CAPTURE(seed);
  OperandSource<T> source(seed);
  for (int i = 0; i < count; ++i) {
    const T a = source.next();
    const T b = source.next();
    const T found = operation(a, b);
    const T expected = truth(a, b);
    if (same(found, expected)) continue;
    CAPTURE(a);
    CAPTURE(b);
    REQUIRE(float_bits(found) == float_bits(expected));
  }
}

// Pairs whose product is within a few units of the least normal number.
template <class T, class Check>
void near_least_product(std::uint64_t seed, Check check) {
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<T> significand(T{1}, T{2});
  for (int i = 0; i < 100'000; ++i) {
    const T a = std::ldexp(significand(random), -static_cast<int>(random() % 60));
    T b = std::numeric_limits<T>::min() * T{4} / a;
    for (auto steps = random() % 4; steps > 0; --steps) b = std::nextafter(b, T{0});
    check(a * T{0.5}, b * T{0.5});
  }
}

}  // namespace

TEST_CASE("canonical flushes every kind of subnormal to the zero of its sign") {
  for (std::uint32_t bits = 1; bits < 0x0080'0000U; bits += 0x101U) {
    REQUIRE(same(canonical(std::bit_cast<float>(bits)), 0.0F));
    REQUIRE(same(canonical(std::bit_cast<float>(bits | 0x8000'0000U)), -0.0F));
  }
  CHECK(same(canonical(std::bit_cast<float>(0x007F'FFFFU)), 0.0F));
  CHECK(same(canonical(std::bit_cast<double>(0x000F'FFFF'FFFF'FFFFU)), 0.0));
  CHECK(same(canonical(std::bit_cast<double>(0x8000'0000'0000'0001U)), -0.0));
}

TEST_CASE("canonical makes one NaN of all") {
  for (const std::uint32_t bits : {0x7F80'0001U, 0x7FFF'FFFFU, 0xFF80'0001U, 0xFFC0'0000U}) {
    CHECK(float_bits(canonical(std::bit_cast<float>(bits))) == 0x7FC0'0000U);
  }
  for (const std::uint64_t bits : {0x7FF0'0000'0000'0001U, 0xFFF8'0000'0000'0000U}) {
    CHECK(float_bits(canonical(std::bit_cast<double>(bits))) == 0x7FF8'0000'0000'0000U);
  }
}

TEST_CASE("canonical leaves zeros, normal numbers and infinities alone") {
  for (const float x : {0.0F, -0.0F, kLeast, -kLeast, 1.0F, -3.5F, 0x1.fffffep127F, kInf, -kInf}) {
    CHECK(same(canonical(x), x));
    CHECK(is_canonical(x));
    CHECK(same(canonical(static_cast<double>(x)), static_cast<double>(x)));
  }
}

TEST_CASE("f32 sums and differences are rounded once and flushed") {
  compare_pairs<float>(
      1001, 400'000, [](float a, float b) { return exact_add(a, b); }, true_sum<float>);
  compare_pairs<float>(
      1002, 400'000, [](float a, float b) { return exact_sub(a, b); },
      [](float a, float b) { return true_sum(a, exact_negate(b)); });
}

TEST_CASE("f64 sums and differences are rounded once and flushed") {
  compare_pairs<double>(
      1003, 200'000, [](double a, double b) { return exact_add(a, b); }, true_sum<double>);
  compare_pairs<double>(
      1004, 200'000, [](double a, double b) { return exact_sub(a, b); },
      [](double a, double b) { return true_sum(a, exact_negate(b)); });
}

TEST_CASE("a subnormal difference becomes the zero of its sign") {
  CHECK(same(exact_sub(1.5F * kLeast, kLeast), 0.0F));
  CHECK(same(exact_sub(kLeast, 1.5F * kLeast), -0.0F));
  CHECK(same(exact_add(-1.5F * kLeast, kLeast), -0.0F));
  CHECK(same(exact_sub(0x1.8p-1022, 0x1p-1022), 0.0));
  CHECK(same(exact_sub(kLeast, kLeast), 0.0F));
}

TEST_CASE("f32 products are rounded once and flushed") {
  compare_pairs<float>(
      1005, 400'000, [](float a, float b) { return exact_mul(a, b); }, true_product<float>);
}

TEST_CASE("f64 products are rounded once and flushed") {
  compare_pairs<double>(
      1006, 400'000, [](double a, double b) { return exact_mul(a, b); }, true_product<double>);
}

TEST_CASE("the product 2^-126 - 2^-150 is zero, which gradual underflow would round up") {
  const float a = 0x1.fffffep-1F;  // 1 - 2^-24
  CHECK(same(exact_mul(a, kLeast), 0.0F));
  CHECK(same(exact_mul(-a, kLeast), -0.0F));
  CHECK(same(exact_mul(a, -kLeast), -0.0F));
  CHECK(same(exact_mul(-a * 0x1p-63F, -0x1p-63F), 0.0F));
  CHECK(same(exact_mul(a * 0x1p100F, kLeast), a * 0x1p-26F));
}

TEST_CASE("the product 2^-126 - 2^-151 is a tie and rounds to the least normal number") {
  // 2^25 - 1 = 18631 * 1801.
  CHECK(same(exact_mul(18631.0F * 0x1p-75F, 1801.0F * 0x1p-76F), kLeast));
  CHECK(same(exact_mul(18631.0F * 0x1p-75F, -1801.0F * 0x1p-76F), -kLeast));
  CHECK(same(exact_mul(18631.0F * 0x1p-27F, 1801.0F * 0x1p-124F), kLeast));
}

TEST_CASE("the f64 product 2^-1022 - 2^-1075 is zero") {
  CHECK(same(exact_mul(1.0 - 0x1p-53, 0x1p-1022), 0.0));
  CHECK(same(exact_mul(0x1p-1022, -(1.0 - 0x1p-53)), -0.0));
  CHECK(same(exact_mul(1.0, 0x1p-1022), 0x1p-1022));
}

TEST_CASE("f32 products within units of the least normal number take the right side") {
  int zeros = 0;
  near_least_product<float>(1007, [&](float a, float b) {
    const float expected = true_product(a, b);
    zeros += expected == 0.0F ? 1 : 0;
    REQUIRE(float_bits(exact_mul(a, b)) == float_bits(expected));
  });
  CHECK(zeros > 20'000);
  CHECK(zeros < 90'000);
}

TEST_CASE("f64 products within units of the least normal number take the right side") {
  near_least_product<double>(1008, [](double a, double b) {
    REQUIRE(float_bits(exact_mul(a, b)) == float_bits(true_product(a, b)));
  });
}

TEST_CASE("f32 quotients are rounded once and flushed") {
  compare_pairs<float>(
      1009, 400'000, [](float a, float b) { return exact_div(a, b); }, true_quotient<float>);
}

TEST_CASE("f64 quotients are rounded once and flushed") {
  compare_pairs<double>(
      1010, 200'000, [](double a, double b) { return exact_div(a, b); }, true_quotient<double>);
}

TEST_CASE("quotients just below the least normal number are zero") {
  const float below_one = 0x1.fffffep-1F;
  CHECK(same(exact_div(below_one * 0x1p-63F, 0x1p63F), 0.0F));
  CHECK(same(exact_div(-below_one, 0x1p126F), -0.0F));
  CHECK(same(exact_div(1.0F, 0x1p126F), kLeast));
  CHECK(same(exact_div(3.0F, 0x1.8p127F), kLeast));
  CHECK(same(exact_div(1.0 - 0x1p-53, 0x1p1022), 0.0));
  CHECK(same(exact_div(kLeast, 1.0F), kLeast));
}

TEST_CASE("division of and by the specials") {
  CHECK(same(exact_div(1.0F, 0.0F), kInf));
  CHECK(same(exact_div(1.0F, -0.0F), -kInf));
  CHECK(same(exact_div(0.0F, 0.0F), kNan));
  CHECK(same(exact_div(kInf, -kInf), kNan));
  CHECK(same(exact_div(-1.0F, kInf), -0.0F));
  CHECK(same(exact_div(kNan, 2.0F), kNan));
}

TEST_CASE("square roots are correctly rounded") {
  const std::uint64_t seed = 1011;
  CAPTURE(seed);
  OperandSource<float> floats(seed);
  OperandSource<double> doubles(seed);
  for (int i = 0; i < 50'000; ++i) {
    const float x = exact_abs(floats.next());
    if (std::isnormal(x)) REQUIRE(same(exact_sqrt(x), rounded<float>(model_sqrt(decode(x)))));
    const double y = exact_abs(doubles.next());
    if (std::isnormal(y)) REQUIRE(same(exact_sqrt(y), rounded<double>(model_sqrt(decode(y)))));
  }
  CHECK(same(exact_sqrt(-0.0F), -0.0F));
  CHECK(same(exact_sqrt(-1.0F), kNan));
  CHECK(same(exact_sqrt(-1.0), canonical_nan<double>()));
  CHECK(same(exact_sqrt(kInf), kInf));
}

TEST_CASE("f32 fused multiply-add rounds once") {
  OperandSource<float> source(1012);
  for (int i = 0; i < 400'000; ++i) {
    const float a = source.next();
    const float b = source.next();
    // Every other addend nearly cancels the product.
    const float c = i % 2 == 0 ? source.next() : exact_mul(-a, b);
    CAPTURE(a);
    CAPTURE(b);
    CAPTURE(c);
    REQUIRE(float_bits(exact_fma(a, b, c)) == float_bits(true_fma(a, b, c)));
  }
}

TEST_CASE("f64 fused multiply-add rounds once") {
  OperandSource<double> source(1013);
  for (int i = 0; i < 200'000; ++i) {
    const double a = source.next();
    const double b = source.next();
    const double c = i % 2 == 0 ? source.next() : exact_mul(-a, b);
    CAPTURE(a);
    CAPTURE(b);
    CAPTURE(c);
    REQUIRE(float_bits(exact_fma(a, b, c)) == float_bits(true_fma(a, b, c)));
  }
}

TEST_CASE("fused multiply-add is not misled by a rounding to double") {
  // The product lies 2^-60 above a tie of f32: rounded to double first, it would fall to even.
  const float a = 1.0F + 0x1p-12F;
  const float c = 0x1p-60F;
  CHECK(same(exact_fma(a, a, c), 1.0F + 0x1p-11F + 0x1p-23F));
  CHECK(same(exact_fma(a, a, -c), 1.0F + 0x1p-11F));
  CHECK(same(exact_fma(a, a, 0.0F), 1.0F + 0x1p-11F));
}

TEST_CASE("fused multiply-add flushes by the unbounded rounding") {
  const float below_one = 0x1.fffffep-1F;
  CHECK(same(exact_fma(below_one, kLeast, 0.0F), 0.0F));
  CHECK(same(exact_fma(-below_one, kLeast, -0.0F), -0.0F));
  CHECK(same(exact_fma(0x1p-75F, 0x1p-76F, -kLeast), -kLeast));  // a tie, to even
  CHECK(same(exact_fma(0x1p-75F, 0x1.8p-76F, -kLeast), -0.0F));  // beyond the tie
  CHECK(same(exact_fma(1.0 - 0x1p-53, 0x1p-1022, 0.0), 0.0));
  CHECK(same(exact_fma(0x1p-500, 0x1p-576, -0x1p-1022), -0x1p-1022));
  CHECK(same(exact_fma(0x1p-500, 0x1.8p-576, -0x1p-1022), -0.0));
}

TEST_CASE("every operation on every pair of specials is canonical") {
  const auto check = [](const auto& values) {
    for (const auto a : values) {
      for (const auto b : values) {
        REQUIRE(is_canonical(exact_add(a, b)));
        REQUIRE(is_canonical(exact_sub(a, b)));
        REQUIRE(is_canonical(exact_mul(a, b)));
        REQUIRE(is_canonical(exact_div(a, b)));
        REQUIRE(is_canonical(exact_min(a, b)));
        REQUIRE(is_canonical(exact_max(a, b)));
        REQUIRE(is_canonical(exact_fma(a, b, exact_negate(a))));
      }
    }
  };
  check(OperandSource<float>::specials());
  check(OperandSource<double>::specials());
}

#if defined(__SSE2__)
TEST_CASE("results do not depend on the host's flush-to-zero modes") {
  constexpr std::size_t kCount = 20'000;
  OperandSource<float> source(1014);
  std::vector<float> a(kCount);
  std::vector<float> b(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    a[i] = source.next();
    b[i] = i % 2 == 0 ? source.next() : exact_div(kLeast, a[i]);  // products at the boundary
  }
  const auto run = [&] {
    std::vector<std::uint32_t> bits;
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::array<float, 5> results{exact_add(a[i], b[i]), exact_mul(a[i], b[i]),
                                         exact_div(a[i], b[i]), exact_fma(a[i], b[i], a[i]),
                                         round_to_f16(a[i])};
      for (const float result : results) bits.push_back(float_bits(result));
    }
    return bits;
  };
  const auto expected = run();
  const unsigned control = _mm_getcsr();
  _mm_setcsr(control | 0x8040U);  // flush results to zero, take subnormal operands as zero
  const auto found = run();
  _mm_setcsr(control);
  CHECK(found == expected);
}
#endif
