// The operations that choose, round to integers, or are defined by others.
#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

#include "arithmetic/exact_float.h"
#include "reference/float_values.h"

namespace {

using namespace felsite::arithmetic;
using namespace felsite::test;

}  // namespace

TEST_CASE("minimum and maximum ignore one NaN") {
  for (const float x : {-kInf, -1.0F, -0.0F, 0.0F, 2.0F, kInf}) {
    CHECK(same(exact_min(kNan, x), x));
    CHECK(same(exact_min(x, kNan), x));
    CHECK(same(exact_max(kNan, x), x));
    CHECK(same(exact_max(x, kNan), x));
  }
  CHECK(same(exact_min(kNan, kNan), kNan));
  CHECK(same(exact_max(kNan, kNan), kNan));
}

TEST_CASE("minimum prefers minus zero, maximum plus zero, in either order") {
  CHECK(same(exact_min(0.0F, -0.0F), -0.0F));
  CHECK(same(exact_min(-0.0F, 0.0F), -0.0F));
  CHECK(same(exact_max(0.0F, -0.0F), 0.0F));
  CHECK(same(exact_max(-0.0, 0.0), 0.0));
  CHECK(same(exact_min(-2.0F, 3.0F), -2.0F));
  CHECK(same(exact_max(-2.0, 3.0), 3.0));
}

TEST_CASE("rounding to integers: halves away from zero, zeros keep the sign") {
  CHECK(same(exact_round(0.5F), 1.0F));
  CHECK(same(exact_round(-2.5F), -3.0F));
  CHECK(same(exact_round(0x1.fffffep-2F), 0.0F));
  CHECK(same(exact_round(-0.25F), -0.0F));
  CHECK(same(exact_round(8388609.0F), 8388609.0F));
  CHECK(same(exact_floor(-0.5F), -1.0F));
  CHECK(same(exact_floor(-0.0F), -0.0F));
  CHECK(same(exact_ceil(-0.5F), -0.0F));
  CHECK(same(exact_ceil(kLeast), 1.0F));
  CHECK(same(exact_trunc(-1.75), -1.0));
  CHECK(same(exact_trunc(-kInf), -kInf));
  CHECK(same(exact_floor(kNan), kNan));
}

TEST_CASE("sign, absolute value and negation") {
  CHECK(same(exact_sign(-0.0F), 0.0F));
  CHECK(same(exact_sign(0.0F), 0.0F));
  CHECK(same(exact_sign(-kLeast), -1.0F));
  CHECK(same(exact_sign(kInf), 1.0F));
  CHECK(same(exact_sign(kNan), kNan));
  CHECK(same(exact_abs(-0.0F), 0.0F));
  CHECK(same(exact_abs(-kInf), kInf));
  CHECK(same(exact_negate(0.0F), -0.0F));
  CHECK(same(exact_negate(kNan), kNan));
  CHECK(same(exact_negate(canonical_nan<double>()), canonical_nan<double>()));
}

TEST_CASE("reciprocal and inverse square root round each step") {
  CHECK(same(exact_reciprocal(0x1p127F), 0.0F));
  CHECK(same(exact_reciprocal(-0x1.000002p126F), -0.0F));
  CHECK(same(exact_reciprocal(0x1p126F), kLeast));
  CHECK(same(exact_reciprocal(-0.0F), -kInf));
  CHECK(same(exact_inverse_sqrt(-0.0F), -kInf));
  CHECK(same(exact_inverse_sqrt(4.0F), 0.5F));
  CHECK(same(exact_inverse_sqrt(-4.0F), kNan));
  // Two roundings, not one: the quotient of two floats, rounded to double, rounds rightly to f32.
  int differing = 0;
  for (float x = 1.0F; x < 1.01F; x = std::nextafter(x, 2.0F)) {
    const auto once = static_cast<float>(1.0 / std::sqrt(static_cast<double>(x)));
    differing += same(exact_inverse_sqrt(x), once) ? 0 : 1;
    const auto root = static_cast<double>(std::sqrt(x));
    REQUIRE(same(exact_inverse_sqrt(x), static_cast<float>(1.0 / root)));
  }
  CHECK(differing > 0);
}
