#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/lru.h"

using namespace felsite::base;

namespace {

using Cache = Lru<std::string, int>;

std::vector<std::string> keys(const Cache::Entries& entries) {
  std::vector<std::string> names;
  for (const Cache::Entry& entry : entries) names.push_back(entry.key);
  return names;
}

using Keys = std::vector<std::string>;

}  // namespace

TEST_CASE("the least recently used entry is evicted where there are too many") {
  Cache cache({.entries = 2});
  CHECK(cache.add("a", 1).empty());
  CHECK(cache.add("b", 2).empty());
  CHECK(keys(cache.add("c", 3)) == Keys{"a"});
  CHECK(cache.find("a") == nullptr);
  REQUIRE(cache.find("b") != nullptr);  // now the most recently used one
  CHECK(cache.find("b")->value == 2);
  CHECK(keys(cache.add("d", 4)) == Keys{"c"});
  CHECK(cache.size() == 2);
}

TEST_CASE("entries are evicted, oldest first, until the bytes fit") {
  Cache cache({.bytes = 10});
  CHECK(cache.add("a", 1, 4).empty());
  CHECK(cache.add("b", 2, 4).empty());
  CHECK(cache.add("c", 3, 2).empty());
  CHECK(cache.bytes() == 10);
  CHECK(keys(cache.add("d", 4, 6)) == Keys{"a", "b"});
  CHECK(cache.bytes() == 8);
  // One that is too large alone drives out all others and stays.
  CHECK(keys(cache.add("e", 5, 11)) == Keys{"c", "d"});
  CHECK(cache.size() == 1);
  CHECK(cache.bytes() == 11);
}

TEST_CASE("several entries may have one key, and are taken one by one") {
  Cache cache({});
  cache.add("a", 1, 1);
  cache.add("a", 2, 1);
  cache.add("b", 3, 1);
  CHECK(cache.take("c").empty());
  CHECK(keys(cache.take("a")) == Keys{"a"});
  CHECK(cache.bytes() == 2);
  CHECK(keys(cache.take("a")) == Keys{"a"});
  CHECK(cache.take("a").empty());
  CHECK(cache.size() == 1);
}

TEST_CASE("entries are taken by what they hold, or all at once") {
  Cache cache({});
  for (int i = 0; i < 6; ++i) cache.add("k" + std::to_string(i), i, 1);
  CHECK(keys(cache.take_if([](const Cache::Entry& entry) { return entry.value % 2 == 0; })) ==
        Keys{"k4", "k2", "k0"});
  CHECK(cache.find("k2") == nullptr);
  CHECK(cache.bytes() == 3);
  CHECK(cache.take_all().size() == 3);
  CHECK(cache.size() == 0);
  CHECK(cache.bytes() == 0);
  CHECK(cache.find("k1") == nullptr);
  CHECK(cache.add("k1", 1).empty());
}

TEST_CASE("what is evicted lives until the caller lets it go") {
  Lru<int, std::shared_ptr<int>> cache({.entries = 1});
  const auto value = std::make_shared<int>(7);
  cache.add(1, value);
  {
    const auto evicted = cache.add(2, nullptr);
    CHECK(value.use_count() == 2);
  }
  CHECK(value.use_count() == 1);
}
