#include "arithmetic/functions.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "arithmetic/function_algorithms.h"
#include "arithmetic/host_value.h"

namespace felsite::arithmetic {

namespace {

using functions::HostF32;

// Works in blocks of fixed size through local arrays, so that neither aliasing nor a remainder
// stops the vectoriser. Flattened, since a loop with a call in it is not vectorised.
template <class Function>
[[gnu::flatten]] void for_each_lane(std::span<const float> x, std::span<float> result,
                                    Function function) {
  constexpr std::size_t kBlock = 64;
  std::array<float, kBlock> in{};
  std::array<float, kBlock> out{};
  const std::size_t count = std::min(x.size(), result.size());
  // A few lanes are cheaper one by one than as a whole block.
  if (count < 8) {
    for (std::size_t i = 0; i < count; ++i) result[i] = function(HostF32{x[i]}).value;
    return;
  }
  for (std::size_t begin = 0; begin < count; begin += kBlock) {
    const std::size_t size = std::min(kBlock, count - begin);
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(begin), size, in.begin());
    for (std::size_t i = 0; i < kBlock; ++i) out[i] = function(HostF32{in[i]}).value;
    std::copy_n(out.begin(), size, result.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

}  // namespace

#define FELSITE_DEFINE_FUNCTION(Name, name)                                       \
  float exact_##name(float x) { return functions::name(HostF32{x}).value; }       \
  void exact_##name(std::span<const float> x, std::span<float> result) {          \
    for_each_lane(x, result, [](HostF32 lane) { return functions::name(lane); }); \
  }

FELSITE_EACH_FUNCTION(FELSITE_DEFINE_FUNCTION)

#undef FELSITE_DEFINE_FUNCTION

}  // namespace felsite::arithmetic
