// Values and comparisons that the tests of float operations and functions share.
#pragma once

#include <limits>

#include "arithmetic/exact_float.h"

namespace felsite::test {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = arithmetic::canonical_nan<float>();
inline constexpr float kLeast = 0x1p-126F;  // normal and positive

// The largest error of functions, in ulp. The contract allows 2. Every function is better, and a
// change that makes one worse should show.
inline constexpr double kUlpBound = 1.5;

// Equal bits: distinguishes the zeros and accepts only the canonical NaN.
template <class T>
bool same(T a, T b) {
  return arithmetic::float_bits(a) == arithmetic::float_bits(b);
}

}  // namespace felsite::test
