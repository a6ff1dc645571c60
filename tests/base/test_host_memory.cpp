#include <doctest/doctest.h>

#include "base/host_memory.h"

using namespace felsite::base;

TEST_CASE("caches: a level that is known is no smaller than the one before it") {
  const auto [first, second, third] = host_cache_bytes();
  if (second != 0) CHECK(second >= first);
  if (third != 0) CHECK(third >= second);
  CHECK(host_cache_bytes() == std::array{first, second, third});
}
