// Sums and products of sizes that may overflow 64 bits. An overflow is absent, never a small
// number. All products of grids, lanes, words and bytes use these.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "felsite/extent.h"

namespace felsite::base {

constexpr std::optional<std::uint64_t> checked_sum(std::initializer_list<std::uint64_t> terms) {
  std::uint64_t total = 0;
  for (const std::uint64_t term : terms) {
    if (__builtin_add_overflow(total, term, &total)) return std::nullopt;
  }
  return total;
}

// A factor of zero makes the product zero, wherever it occurs.
constexpr std::optional<std::uint64_t> checked_product(
    std::initializer_list<std::uint64_t> factors) {
  for (const std::uint64_t factor : factors) {
    if (factor == 0) return 0;
  }
  std::uint64_t total = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(total, factor, &total)) return std::nullopt;
  }
  return total;
}

// The number of workgroups of a grid, or of invocations of a workgroup.
constexpr std::optional<std::uint64_t> volume(const Extent3& extent) {
  return checked_product({extent[0], extent[1], extent[2]});
}

// The result of checked_sum or checked_product as text; an overflow is described without a number.
inline std::string bytes_text(const std::optional<std::uint64_t>& bytes) {
  return bytes ? std::to_string(*bytes) + " bytes" : "2^64 bytes or more";
}

}  // namespace felsite::base
