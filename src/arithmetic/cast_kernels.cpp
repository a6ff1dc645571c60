#include <cstring>

#include "arithmetic/arithmetic.h"
#include "arithmetic/kernel_table.h"
#include "arithmetic/kernels.h"
#include "felsite/literal.h"

namespace felsite::arithmetic {
namespace {

template <Type from, Type to>
void run_cast(void* result, const void* a, std::size_t lanes) {
  auto* out = static_cast<Lane<to>*>(result);
  const auto* x = static_cast<const Lane<from>*>(a);
  for (std::size_t i = 0; i < lanes; ++i) out[i] = evaluate_cast<from, to>(x[i]);
}

template <Type from, Type to>
void run_bitcast(void* result, const void* a, std::size_t lanes) {
  auto* out = static_cast<Lane<to>*>(result);
  const auto* x = static_cast<const Lane<from>*>(a);
  for (std::size_t i = 0; i < lanes; ++i) out[i] = evaluate_bitcast<from, to>(x[i]);
}

using UnaryRow = std::array<UnaryKernel, kTypes>;

constexpr auto kCasts = by_type<UnaryRow>([]<Type from>() {
  return by_type<UnaryKernel>([]<Type to>() -> UnaryKernel { return &run_cast<from, to>; });
});

constexpr auto kBitcasts = by_type<UnaryRow>([]<Type from>() {
  return by_type<UnaryKernel>([]<Type to>() -> UnaryKernel {
    constexpr bool fits =
        ir::info(from).bytes == ir::info(to).bytes && from != Type::Bool && to != Type::Bool;
    if constexpr (fits) return &run_bitcast<from, to>;
    return nullptr;
  });
});

using FromBits = void (*)(std::uint64_t bits, void* lane);
using ToBits = std::uint64_t (*)(const void* lane);

constexpr auto kFromBits = by_type<FromBits>([]<Type type>() -> FromBits {
  return [](std::uint64_t bits, void* lane) {
    const Lane<type> value = lane_from_element<type>(static_cast<Element<type>>(bits));
    std::memcpy(lane, &value, sizeof value);
  };
});

constexpr auto kToBits = by_type<ToBits>([]<Type type>() -> ToBits {
  return [](const void* lane) -> std::uint64_t {
    Lane<type> value;
    std::memcpy(&value, lane, sizeof value);
    return element_from_lane<type>(value);
  };
});

}  // namespace

UnaryKernel cast_kernel(Type from, Type to) {
  if (from == Type::None || to == Type::None) return nullptr;
  return kCasts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

UnaryKernel bitcast_kernel(Type from, Type to) {
  if (from == Type::None || to == Type::None) return nullptr;
  return kBitcasts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
}

void lane_from_bits(Type type, std::uint64_t element_bits, void* lane) {
  kFromBits[static_cast<std::size_t>(type)](element_bits, lane);
}

std::uint64_t bits_from_lane(Type type, const void* lane) {
  return kToBits[static_cast<std::size_t>(type)](lane);
}

}  // namespace felsite::arithmetic
