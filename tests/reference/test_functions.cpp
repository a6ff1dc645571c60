#include <doctest/doctest.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arithmetic/exact_float.h"
#include "arithmetic/function_algorithms.h"
#include "arithmetic/functions.h"
#include "arithmetic/host_value.h"
#include "reference/float_values.h"

namespace {

using namespace felsite::arithmetic;
using namespace felsite::test;
using functions::PlainF32;

using ScalarFunction = float (*)(float);
using LaneFunction = void (*)(std::span<const float>, std::span<float>);

struct FunctionRow {
  const char* name;
  ScalarFunction scalar;
  LaneFunction lanes;
  ScalarFunction plain;
  double (*truth)(double);
};

#define FELSITE_ROW(name)                                                          \
  FunctionRow {                                                                    \
#name, exact_##name, exact_##name,                                               \
        [](float x) { return canonical(functions::name(PlainF32{x}).value); },       \
        [](double x) { return std::name(x); } \
  }

constexpr std::array kFunctions{
    FELSITE_ROW(sin),  FELSITE_ROW(cos),  FELSITE_ROW(tan),  FELSITE_ROW(asin), FELSITE_ROW(acos),
    FELSITE_ROW(atan), FELSITE_ROW(sinh), FELSITE_ROW(cosh), FELSITE_ROW(tanh), FELSITE_ROW(exp),
    FELSITE_ROW(exp2), FELSITE_ROW(log),  FELSITE_ROW(log2),
};

#undef FELSITE_ROW

const FunctionRow& row_of(std::string_view name) {
  for (const auto& row : kFunctions) {
    if (row.name == name) return row;
  }
  FAIL("no function ", std::string(name));
  return kFunctions[0];
}

float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// In units of the f32 spacing in the binade of the true value; infinite if a special value or the
// sign is wrong. Zero stands for 2^-126 and infinity for the least number that rounds to it.
double ulp_error(float result, double truth) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  constexpr double kOverflow = 0x1p128 - 0x1p103;
  if (!is_canonical(result) || std::isnan(result) != std::isnan(truth)) return kWrong;
  if (std::isnan(truth)) return 0.0;
  if (std::signbit(result) != std::signbit(truth)) return kWrong;
  const double size = std::fabs(truth);
  const double found = std::isinf(result) ? kOverflow : std::fabs(static_cast<double>(result));
  if (std::isinf(result) && size >= kOverflow) return 0.0;
  if (std::isinf(truth)) return kWrong;
  if (result == 0.0F && size < 0x1p-126) return 0.0;
  const double floor_found = result == 0.0F ? 0x1p-126 : found;
  const int exponent = size < 0x1p-126 ? -126 : std::min(std::ilogb(size), 127);
  return std::ldexp(std::fabs(floor_found - size), 23 - exponent);
}

// Every `stride`-th bit pattern, as a load makes it.
std::vector<float> sample(std::uint64_t stride) {
  std::vector<float> values;
  for (std::uint64_t bits = 0; bits <= 0xFFFF'FFFFU; bits += stride) {
    values.push_back(canonical(from_bits(static_cast<std::uint32_t>(bits))));
  }
  return values;
}

struct WorstCase {
  const char* function;
  std::uint32_t input;
  std::uint32_t result;
};

// For each function the input with the greatest error of all 2^32, by bench/ulp_exhaustive, and
// another that once was the worst. The results' bits are what every device has to give.
constexpr std::array kWorstCases{
    WorstCase{"sin", 0x4930'C56AU, 0xBF37'AFC2U},  WorstCase{"sin", 0x4335'67CAU, 0xBF38'E0BEU},
    WorstCase{"cos", 0x7DE8'5E0DU, 0xBF39'03DAU},  WorstCase{"cos", 0x42BA'F374U, 0x3F37'609CU},
    WorstCase{"tan", 0x3F5B'3214U, 0x3F93'8D24U},  WorstCase{"tan", 0x7694'38A4U, 0xBFCE'8584U},
    WorstCase{"asin", 0x3F5F'55B3U, 0x3F87'B12AU}, WorstCase{"asin", 0x3F57'0363U, 0x3F7F'4154U},
    WorstCase{"acos", 0xBF09'9E7CU, 0x4008'DACBU}, WorstCase{"acos", 0xBF01'337CU, 0x4006'637AU},
    WorstCase{"atan", 0x3F88'E379U, 0x3F51'A624U}, WorstCase{"atan", 0x3F87'4D05U, 0x3F50'2894U},
    WorstCase{"sinh", 0x3EB2'E02EU, 0x3EB6'896EU}, WorstCase{"sinh", 0x410A'D0C1U, 0x4537'22D6U},
    WorstCase{"cosh", 0x3F85'185AU, 0x3FCB'A904U}, WorstCase{"cosh", 0x4101'1BCBU, 0x44C7'AD18U},
    WorstCase{"tanh", 0x3F26'7AB1U, 0x3F12'66A0U}, WorstCase{"tanh", 0x3F27'BAE9U, 0x3F13'3D84U},
    WorstCase{"exp", 0xC0BB'6F5CU, 0x3B3B'5B2AU},  WorstCase{"exp", 0x42A1'9642U, 0x79BC'C04CU},
    WorstCase{"exp2", 0x3F00'0740U, 0x3FB5'0882U}, WorstCase{"exp2", 0xC205'FFE3U, 0x2EB5'0882U},
    WorstCase{"log", 0x3FB3'5069U, 0x3EAC'9986U},  WorstCase{"log", 0x4531'9A7CU, 0x40FE'77F2U},
    WorstCase{"log2", 0x3F35'1809U, 0xBEFF'B222U}, WorstCase{"log2", 0x3F37'72BFU, 0xBEF6'279AU},
};

}  // namespace

TEST_CASE("every function is within its bound on a sample of all inputs") {
  const auto inputs =
      sample(21'481);  // a prime, so as not to follow any pattern of bits: some 200 000
  std::vector<float> results(inputs.size());
  for (const auto& function : kFunctions) {
    CAPTURE(std::string(function.name));
    function.lanes(inputs, results);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const double truth = function.truth(static_cast<double>(inputs[i]));
      if (ulp_error(results[i], truth) <= kUlpBound) continue;
      CAPTURE(float_bits(inputs[i]));
      CAPTURE(results[i]);
      FAIL_CHECK(truth);
      break;
    }
  }
}

TEST_CASE("every function is within its bound around 1, where most programs are") {
  for (const auto& function : kFunctions) {
    CAPTURE(std::string(function.name));
    for (std::uint32_t bits = 0x3F00'0000U; bits < 0x4100'0000U; bits += 1013) {
      const float x = from_bits(bits);
      CAPTURE(x);
      REQUIRE(ulp_error(function.scalar(x), function.truth(static_cast<double>(x))) <= kUlpBound);
      REQUIRE(ulp_error(function.scalar(-x), function.truth(static_cast<double>(-x))) <= kUlpBound);
    }
  }
}

TEST_CASE("the worst inputs of the exhaustive run stay within its bound and keep their bits") {
  for (const auto& worst : kWorstCases) {
    CAPTURE(std::string(worst.function));
    const auto& function = row_of(worst.function);
    const float x = from_bits(worst.input);
    CHECK(float_bits(function.scalar(x)) == worst.result);
    CHECK(ulp_error(function.scalar(x), function.truth(static_cast<double>(x))) <= kUlpBound);
  }
}

TEST_CASE("lanes give the bits of single calls, whatever the count") {
  const auto inputs = sample(4'000'037);
  for (const auto& function : kFunctions) {
    CAPTURE(std::string(function.name));
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{63},
                                    std::size_t{64}, std::size_t{65}, inputs.size()}) {
      std::vector<float> results(inputs);
      const auto part = std::span(results).first(count);
      function.lanes(part, part);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        REQUIRE(same(results[i], i < count ? function.scalar(inputs[i]) : inputs[i]));
      }
    }
  }
}

TEST_CASE("bare machine arithmetic gives the same bits as exact arithmetic") {
  const auto inputs = sample(160'001);
  for (const auto& function : kFunctions) {
    CAPTURE(std::string(function.name));
    for (const float x : inputs) {
      CAPTURE(float_bits(x));
      REQUIRE(float_bits(function.plain(x)) == float_bits(function.scalar(x)));
    }
  }
}

#if defined(__SSE2__)
TEST_CASE("bare machine arithmetic gives these bits with subnormals flushed, too") {
  const auto inputs = sample(160'001);
  for (const auto& function : kFunctions) {
    CAPTURE(std::string(function.name));
    std::vector<float> found;
    const unsigned control = _mm_getcsr();
    _mm_setcsr(control | 0x8040U);  // flush results to zero, take subnormal operands as zero
    for (const float x : inputs) found.push_back(function.plain(x));
    _mm_setcsr(control);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      CAPTURE(float_bits(inputs[i]));
      REQUIRE(float_bits(found[i]) == float_bits(function.scalar(inputs[i])));
    }
  }
}
#endif

TEST_CASE("NaN in, the canonical NaN out") {
  for (const auto& function : kFunctions) {
    CAPTURE(std::string(function.name));
    CHECK(same(function.scalar(kNan), kNan));
  }
}

TEST_CASE("odd functions are odd in every bit") {
  for (const char* name : {"sin", "tan", "asin", "atan", "sinh", "tanh"}) {
    const auto& function = row_of(name);
    CAPTURE(std::string(name));
    for (const float x : sample(200'003)) {
      REQUIRE(same(function.scalar(exact_negate(x)), exact_negate(function.scalar(x))));
    }
  }
}

TEST_CASE("even functions are even in every bit") {
  for (const char* name : {"cos", "cosh"}) {
    const auto& function = row_of(name);
    CAPTURE(std::string(name));
    for (const float x : sample(200'003)) {
      REQUIRE(same(function.scalar(exact_negate(x)), function.scalar(x)));
    }
  }
}

TEST_CASE("odd functions give tiny arguments and both zeros back") {
  for (const char* name : {"sin", "tan", "asin", "atan", "sinh", "tanh"}) {
    const auto& function = row_of(name);
    CAPTURE(std::string(name));
    for (const float x : {0.0F, kLeast, 1.5F * kLeast, 0x1.234566p-100F, 0x1.fffffep-14F}) {
      CAPTURE(x);
      CHECK(same(function.scalar(x), x));
      CHECK(same(function.scalar(-x), -x));
    }
  }
}

TEST_CASE("cosine of zero and of tiny arguments is 1") {
  CHECK(same(exact_cos(0.0F), 1.0F));
  CHECK(same(exact_cos(-0.0F), 1.0F));
  CHECK(same(exact_cos(kLeast), 1.0F));
  CHECK(same(exact_cosh(-kLeast), 1.0F));
}

TEST_CASE("arc sine and arc cosine at and beyond their limits") {
  CHECK(same(exact_asin(1.0F), 0x1.921fb6p0F));
  CHECK(same(exact_asin(-1.0F), -0x1.921fb6p0F));
  CHECK(same(exact_acos(1.0F), 0.0F));
  CHECK(same(exact_acos(-1.0F), 0x1.921fb6p1F));
  CHECK(same(exact_acos(0.0F), 0x1.921fb6p0F));
  for (const float x : {0x1.000002p0F, -0x1.000002p0F, 2.0F, -2.0F, kInf, -kInf}) {
    CAPTURE(x);
    CHECK(same(exact_asin(x), kNan));
    CHECK(same(exact_acos(x), kNan));
  }
}

TEST_CASE("arc tangent of infinity is half pi") {
  CHECK(same(exact_atan(kInf), 0x1.921fb6p0F));
  CHECK(same(exact_atan(-kInf), -0x1.921fb6p0F));
  CHECK(same(exact_atan(0x1p127F), 0x1.921fb6p0F));
}

TEST_CASE("exponentials of the infinities and of zero") {
  for (const char* name : {"exp", "exp2"}) {
    CAPTURE(std::string(name));
    CHECK(same(row_of(name).scalar(kInf), kInf));
    CHECK(same(row_of(name).scalar(-kInf), 0.0F));
    CHECK(same(row_of(name).scalar(0.0F), 1.0F));
    CHECK(same(row_of(name).scalar(-0.0F), 1.0F));
  }
}

TEST_CASE("exponentials overflow where the true value does") {
  CHECK(std::isfinite(exact_exp(0x1.62e42ep6F)));
  CHECK(same(exact_exp(0x1.62e43p6F), kInf));
  CHECK(std::isfinite(exact_exp2(0x1.fffffep6F)));
  CHECK(same(exact_exp2(128.0F), kInf));
  CHECK(same(exact_exp(0x1p127F), kInf));
}

TEST_CASE("exponentials are flushed where the true value is below 2^-126") {
  CHECK(exact_exp(-0x1.5d589ep6F) >= kLeast);
  CHECK(same(exact_exp(-0x1.5d58ap6F), 0.0F));
  CHECK(same(exact_exp2(-126.0F), kLeast));
  CHECK(same(exact_exp2(std::nextafter(-126.0F, -kInf)), 0.0F));
  CHECK(same(exact_exp(-0x1p127F), 0.0F));
}

TEST_CASE("exp2 and log2 are exact at the powers of two") {
  for (int exponent = -126; exponent <= 127; ++exponent) {
    const float power = std::ldexp(1.0F, exponent);
    CAPTURE(exponent);
    REQUIRE(same(exact_exp2(static_cast<float>(exponent)), power));
    REQUIRE(same(exact_log2(power), static_cast<float>(exponent)));
  }
}

TEST_CASE("logarithms of zeros, negative numbers and infinities") {
  for (const char* name : {"log", "log2"}) {
    CAPTURE(std::string(name));
    const auto logarithm = row_of(name).scalar;
    CHECK(same(logarithm(0.0F), -kInf));
    CHECK(same(logarithm(-0.0F), -kInf));
    CHECK(same(logarithm(-kLeast), kNan));
    CHECK(same(logarithm(-1.0F), kNan));
    CHECK(same(logarithm(-kInf), kNan));
    CHECK(same(logarithm(kInf), kInf));
    CHECK(same(logarithm(1.0F), 0.0F));
  }
}

TEST_CASE("hyperbolic sine and cosine overflow where the true value does") {
  for (const char* name : {"sinh", "cosh"}) {
    CAPTURE(std::string(name));
    const auto function = row_of(name).scalar;
    CHECK(std::isfinite(function(0x1.65a9f8p6F)));  // log of twice the greatest float, rounded down
    CHECK(same(function(0x1.65a9fap6F), kInf));
    CHECK(same(function(kInf), kInf));
    CHECK(same(function(0x1p100F), kInf));
  }
  CHECK(same(exact_sinh(-kInf), -kInf));
  CHECK(same(exact_cosh(-kInf), kInf));
  CHECK(same(exact_sinh(-90.0F), -kInf));
}

TEST_CASE("hyperbolic tangent saturates at 1") {
  CHECK(same(exact_tanh(kInf), 1.0F));
  CHECK(same(exact_tanh(-kInf), -1.0F));
  CHECK(same(exact_tanh(10.5F), 1.0F));
  CHECK(exact_tanh(8.5F) < 1.0F);
}
