// Decimals of any length, compared with binary numbers without rounding.
#pragma once

#include <cstdint>
#include <string_view>

namespace felsite::ir {

// Less than, equal to or greater than 0, as `decimal` is to mantissa · 2^exponent. The decimal has
// digits, perhaps a point and perhaps an exponent, no sign, and its value is within the range of
// f64.
int compare(std::string_view decimal, std::uint64_t mantissa, int exponent);

}  // namespace felsite::ir
