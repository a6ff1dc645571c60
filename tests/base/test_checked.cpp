#include <doctest/doctest.h>

#include "base/checked.h"

namespace felsite::base {
namespace {

constexpr std::uint64_t kMax = ~std::uint64_t{0};

TEST_CASE("a checked sum is the sum, or absent where it does not fit into 64 bits") {
  CHECK(checked_sum({}) == 0);
  CHECK(checked_sum({1, 2, 3}) == 6);
  CHECK(checked_sum({kMax, 0}) == kMax);
  CHECK(checked_sum({kMax - 1, 1}) == kMax);
  CHECK(checked_sum({kMax, 1}) == std::nullopt);
  CHECK(checked_sum({1, kMax, 5}) == std::nullopt);
}

TEST_CASE("a checked product is the product, or absent where it does not fit into 64 bits") {
  CHECK(checked_product({}) == 1);
  CHECK(checked_product({2, 3, 7}) == 42);
  CHECK(checked_product({std::uint64_t{1} << 32, (std::uint64_t{1} << 32) - 1}) ==
        kMax - (std::uint64_t{1} << 32) + 1);
  CHECK(checked_product({std::uint64_t{1} << 32, std::uint64_t{1} << 32}) == std::nullopt);
  CHECK(checked_product({65536, 65536, 65536, 65536}) == std::nullopt);
}

TEST_CASE("a factor of zero makes a checked product zero, also behind factors that overflow") {
  CHECK(checked_product({kMax, kMax, 0}) == 0);
  CHECK(checked_product({0, kMax, kMax}) == 0);
}

}  // namespace
}  // namespace felsite::base
