// Random numbers for tests. The same seed gives the same numbers everywhere.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>

namespace felsite::test {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t bits() { return engine_(); }
  std::uint32_t below(std::uint32_t limit) { return static_cast<std::uint32_t>(engine_() % limit); }
  bool chance(std::uint32_t one_in) { return below(one_in) == 0; }
  template <class Items>
  const auto& pick(const Items& items) {
    return items[below(static_cast<std::uint32_t>(std::size(items)))];
  }

 private:
  std::mt19937_64 engine_;
};

// FELSITE_TEST_SEED if set, else a new seed for each run. Tests print it when they fail.
inline std::uint64_t run_seed() {
  if (const char* text = std::getenv("FELSITE_TEST_SEED")) return std::strtoull(text, nullptr, 10);
  static const std::uint64_t seed = std::random_device{}();
  return seed;
}

}  // namespace felsite::test
