// Float arithmetic that gives the bits of src/arithmetic/exact_float.h on every device, from what
// Vulkan promises: additions, subtractions and multiplications rounded to nearest, with underflow
// as the device likes. For F = Float and F = Double.
//
// Operands are not subnormal, and neither are results. Which NaN a NaN is, is left open.
#pragma once

#include "codegen/values/values.h"

namespace felsite::codegen {

template <class F>
F exact_add(F a, F b);
template <class F>
F exact_sub(F a, F b);
template <class F>
F exact_mul(F a, F b);
template <class F>
F exact_min(F a, F b);
template <class F>
F exact_max(F a, F b);

template <class F>
F exact_negate(F x);
template <class F>
F exact_abs(F x);
template <class F>
F exact_sign(F x);
template <class F>
F exact_floor(F x);
template <class F>
F exact_ceil(F x);
template <class F>
F exact_round(F x);
template <class F>
F exact_trunc(F x);

// Functions of the module, called: exact_division.cpp and exact_fma.cpp.
template <class F>
F exact_div(F a, F b);
template <class F>
F exact_sqrt(F x);
template <class F>
F exact_fma(F a, F b, F c);

}  // namespace felsite::codegen
