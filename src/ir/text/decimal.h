// Decimals of any length, compared with binary numbers without rounding.
#pragma once

#include <cstdint>
#include <string_view>

namespace felsite::ir {

// Compares `decimal` with mantissa · 2^exponent, and returns a number less than, equal to or
// greater than 0. The decimal has digits, an optional point and an optional exponent, no sign, and
// its value is within the range of f64.
int compare(std::string_view decimal, std::uint64_t mantissa, int exponent);

}  // namespace felsite::ir
