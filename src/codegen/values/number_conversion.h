// Conversions between integers and floats, with one rounding, by rules that hold on every device:
// what does not fit an integer saturates.
#pragma once

#include "codegen/values/values.h"

namespace felsite::codegen {

// To the nearest, ties to even. The integer is signed or not as `is_signed` says.
Float float_from_small(Word value, bool is_signed);  // of at most 24 bits
Float float_from_word(Word value, bool is_signed);
Float float_from_wide(Wide value, bool is_signed);
Double double_from_word(Word value, bool is_signed);
Double double_from_wide(Wide value, bool is_signed);
Float brain_from_word(Word value, bool is_signed);  // a value of bf16
Float brain_from_wide(Wide value, bool is_signed);

// Towards zero, to the nearest bound of an integer of `width` bits, 32 at most; NaN gives 0.
Word word_from_float(Float x, std::uint32_t width, bool is_signed);
Word word_from_float(Double x, std::uint32_t width, bool is_signed);
Wide wide_from_float(Float x, bool is_signed);
Wide wide_from_float(Double x, bool is_signed);

}  // namespace felsite::codegen
