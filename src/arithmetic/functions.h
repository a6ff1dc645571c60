// The transcendental functions of f32, at most 2 ulp from the true value, with the same bits
// everywhere.
//
// Operand and result are canonical (exact_float.h). function_algorithms.h has the algorithms.
#pragma once

#include <span>

namespace felsite::arithmetic {

[[nodiscard]] float exact_sin(float x);
[[nodiscard]] float exact_cos(float x);
[[nodiscard]] float exact_tan(float x);
[[nodiscard]] float exact_asin(float x);
[[nodiscard]] float exact_acos(float x);
[[nodiscard]] float exact_atan(float x);
[[nodiscard]] float exact_sinh(float x);
[[nodiscard]] float exact_cosh(float x);
[[nodiscard]] float exact_tanh(float x);
[[nodiscard]] float exact_exp(float x);
[[nodiscard]] float exact_exp2(float x);
[[nodiscard]] float exact_log(float x);
[[nodiscard]] float exact_log2(float x);

// The same for many lanes, vectorised. `result` has the size of `x` and may be the same array.
void exact_sin(std::span<const float> x, std::span<float> result);
void exact_cos(std::span<const float> x, std::span<float> result);
void exact_tan(std::span<const float> x, std::span<float> result);
void exact_asin(std::span<const float> x, std::span<float> result);
void exact_acos(std::span<const float> x, std::span<float> result);
void exact_atan(std::span<const float> x, std::span<float> result);
void exact_sinh(std::span<const float> x, std::span<float> result);
void exact_cosh(std::span<const float> x, std::span<float> result);
void exact_tanh(std::span<const float> x, std::span<float> result);
void exact_exp(std::span<const float> x, std::span<float> result);
void exact_exp2(std::span<const float> x, std::span<float> result);
void exact_log(std::span<const float> x, std::span<float> result);
void exact_log2(std::span<const float> x, std::span<float> result);

}  // namespace felsite::arithmetic
