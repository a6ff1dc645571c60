// Floats as bits: what a load makes of them, what a store leaves, and the narrow formats.
//
// In exact mode subnormals count as zero of their sign and every NaN that can be seen is the one
// NaN of its format; in fast mode bits pass as they are.
#pragma once

#include "codegen/values/value.h"
#include "codegen/values/values.h"

namespace felsite::codegen {

// A subnormal becomes the zero of its sign.
Float flushed(Float x);
Double flushed(Double x);

// With the one NaN.
Word canonical_bits(Float x);
Wide canonical_bits(Double x);

// f16 and bf16 in the low 16 bits of a word. The subnormals of f16 are kept, those of bf16 are
// flushed, as they are those of f32. What is packed is representable already.
Float float_from_half_bits(Word half);
Float float_from_brain_bits(Word half);
Word half_bits(Float x);
Word brain_bits(Float x);

// To the nearest value of the narrow format, ties to even, in one rounding.
Float rounded_to_half(Float x);
Float rounded_to_brain(Float x);
Float rounded_to_half(Double x);
Float rounded_to_brain(Double x);
Float rounded_to_float(Double x);

// What a load of these bits gives: of F16, BF16 and F32, and of F64.
Value value_from_bits(Emitter& emitter, ir::Type type, Word bits);
Value value_from_bits(Emitter& emitter, ir::Type type, Wide bits);

// What a store of the value writes: of F16, BF16 and F32, and of F64.
Word word_bits_of_value(Value value);
Wide wide_bits_of_value(Value value);

}  // namespace felsite::codegen
