// The transcendental functions of f32, at most 2 ulp from the true value, with the same bits
// everywhere.
//
// Operand and result are canonical (exact_float.h). function_algorithms.h has the algorithms.
#pragma once

#include <span>

// Each function, by the name of its operation and its own.
#define FELSITE_EACH_FUNCTION(DO) \
  DO(Sin, sin)                    \
  DO(Cos, cos)                    \
  DO(Tan, tan)                    \
  DO(Asin, asin)                  \
  DO(Acos, acos)                  \
  DO(Atan, atan)                  \
  DO(Sinh, sinh)                  \
  DO(Cosh, cosh)                  \
  DO(Tanh, tanh)                  \
  DO(Exp, exp)                    \
  DO(Exp2, exp2)                  \
  DO(Log, log)                    \
  DO(Log2, log2)

namespace felsite::arithmetic {

// One by one, and for many lanes, vectorised: then `result` has the size of `x` and may be the same
// array.
#define FELSITE_DECLARE_FUNCTION(Name, name) \
  [[nodiscard]] float exact_##name(float x); \
  void exact_##name(std::span<const float> x, std::span<float> result);

FELSITE_EACH_FUNCTION(FELSITE_DECLARE_FUNCTION)

#undef FELSITE_DECLARE_FUNCTION

}  // namespace felsite::arithmetic
