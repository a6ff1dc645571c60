// Sine, cosine and tangent where the reduction of the argument is hard.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "arithmetic/exact_float.h"
#include "arithmetic/functions.h"
#include "reference/float_values.h"

namespace {

using namespace felsite::arithmetic;
using namespace felsite::test;

// The error of a result that is neither tiny nor special, in ulp of the true value.
double ulp_error_of_normal(float result, double truth) {
  return std::ldexp(std::fabs(static_cast<double>(result) - truth), 23 - std::ilogb(truth));
}

void check_all_three(float x) {
  const auto wide = static_cast<double>(x);
  CAPTURE(x);
  CHECK(ulp_error_of_normal(exact_sin(x), std::sin(wide)) <= kUlpBound);
  CHECK(ulp_error_of_normal(exact_cos(x), std::cos(wide)) <= kUlpBound);
  CHECK(ulp_error_of_normal(exact_tan(x), std::tan(wide)) <= kUlpBound);
}

// For each binade from 1 on, the float nearest to a multiple of pi/2, found by exhaustive search.
constexpr std::array<std::uint32_t, 128> kNearMultiples{
    0x3FC9'0FDBU, 0x4049'0FDBU, 0x4096'CBE4U, 0x4116'CBE4U, 0x4196'CBE4U, 0x4216'CBE4U,
    0x4296'CBE4U, 0x437C'E5F1U, 0x43FC'E5F1U, 0x447C'E5F1U, 0x44FC'E5F1U, 0x450B'E628U,
    0x458B'E628U, 0x460B'E628U, 0x468B'E628U, 0x474D'246FU, 0x47CD'246FU, 0x484D'246FU,
    0x4882'665EU, 0x4902'665EU, 0x4982'665EU, 0x4A25'62AEU, 0x4AA5'62AEU, 0x4B25'62AEU,
    0x4BF3'B47BU, 0x4C23'32E9U, 0x4CA3'32E9U, 0x4D23'32E9U, 0x4D84'7661U, 0x4E13'D4A5U,
    0x4E93'D4A5U, 0x4F0F'FD14U, 0x4FDB'D32FU, 0x507F'D274U, 0x50A3'E87FU, 0x5123'E87FU,
    0x51A3'E87FU, 0x5223'E87FU, 0x52A3'E87FU, 0x5323'E87FU, 0x53B1'46A6U, 0x5431'46A6U,
    0x54B1'46A6U, 0x5531'46A6U, 0x55B1'46A6U, 0x5678'7577U, 0x56F8'7577U, 0x5778'7577U,
    0x57B8'2989U, 0x5838'2989U, 0x58DC'36C9U, 0x596E'3D69U, 0x59F7'40B9U, 0x5A7B'C261U,
    0x5AFE'0335U, 0x5B7F'239FU, 0x5BFF'B3D4U, 0x5C07'BCD0U, 0x5C87'BCD0U, 0x5D07'BCD0U,
    0x5D87'BCD0U, 0x5E07'BCD0U, 0x5E87'BCD0U, 0x5F07'BCD0U, 0x5FE4'112CU, 0x6064'112CU,
    0x60AB'0CE1U, 0x617C'556BU, 0x61D3'B126U, 0x6253'B126U, 0x62EC'1B4AU, 0x636C'1B4AU,
    0x63E6'00C1U, 0x642E'0733U, 0x64AE'0733U, 0x652E'0733U, 0x6589'8498U, 0x6609'8498U,
    0x6689'8498U, 0x6709'8498U, 0x6789'8498U, 0x6809'8498U, 0x6889'8498U, 0x6946'E3BBU,
    0x69C6'E3BBU, 0x6A19'76F1U, 0x6A99'76F1U, 0x6B19'76F1U, 0x6B99'76F1U, 0x6C55'DA58U,
    0x6CD5'DA58U, 0x6D20'63C2U, 0x6D85'A877U, 0x6E05'A877U, 0x6E85'A877U, 0x6F79'BE45U,
    0x6FF9'BE45U, 0x7079'BE45U, 0x70F9'BE45U, 0x7179'BE45U, 0x71F9'BE45U, 0x723F'A09AU,
    0x72BF'A09AU, 0x733F'A09AU, 0x73E6'1C18U, 0x7452'DE59U, 0x74D2'DE59U, 0x756F'A1DCU,
    0x7594'9471U, 0x7650'7CE8U, 0x76A4'26EBU, 0x7758'4625U, 0x77D8'4625U, 0x7858'4625U,
    0x78A8'B883U, 0x7940'7F54U, 0x79C0'7F54U, 0x7A10'5F7FU, 0x7AFC'CBABU, 0x7B16'75C0U,
    0x7B96'75C0U, 0x7C6C'3305U, 0x7CFF'01BDU, 0x7D7F'01BDU, 0x7DFF'01BDU, 0x7E7F'01BDU,
    0x7EBD'CDA0U, 0x7F3D'CDA0U,
};

}  // namespace

TEST_CASE("sine, cosine and tangent of infinity are NaN") {
  for (const float x : {kInf, -kInf}) {
    CHECK(float_bits(exact_sin(x)) == float_bits(kNan));
    CHECK(float_bits(exact_cos(x)) == float_bits(kNan));
    CHECK(float_bits(exact_tan(x)) == float_bits(kNan));
  }
}

TEST_CASE("in every binade the float nearest to a multiple of pi/2 is reduced without loss") {
  for (const std::uint32_t bits : kNearMultiples) {
    check_all_three(std::bit_cast<float>(bits));
    check_all_three(std::bit_cast<float>(bits | 0x8000'0000U));
  }
}

TEST_CASE("the first ten thousand multiples of pi/2 are reduced without loss") {
  for (int i = 1; i <= 10'000; ++i) {
    check_all_three(static_cast<float>(i * std::numbers::pi / 2));
  }
}

TEST_CASE("every binade of large arguments is reduced right") {
  for (std::uint32_t exponent = 126; exponent < 255; ++exponent) {
    for (const std::uint32_t fraction : {0U, 1U, 0x2A'AAAAU, 0x55'5555U, 0x7F'FFFFU}) {
      check_all_three(std::bit_cast<float>((exponent << 23) | fraction));
    }
  }
}

TEST_CASE("both sides of the switch to the reduction, near pi/4") {
  for (std::uint32_t bits = 0x3F49'0F00U; bits < 0x3F49'1100U; ++bits) {
    check_all_three(std::bit_cast<float>(bits));
  }
}
