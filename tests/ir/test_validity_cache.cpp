// Programs that are remembered as valid.
#include <doctest/doctest.h>

#include "ir/check/validation.h"
#include "ir/check/validity_cache.h"
#include "support/parse.h"
#include "support/results.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// Made again each time, so that it does not remember by itself that it is valid.
ir::Program stores(std::uint32_t number) {
  return parsed("program p workgroup(1) { output o: u32[1]; o[0] = " + std::to_string(number) +
                "; }");
}

std::uint64_t validations(ir::ValidityCache& cache, std::uint32_t number) {
  const std::uint64_t before = ir::validation_count();
  must(cache.get(stores(number)));
  return ir::validation_count() - before;
}

}  // namespace

TEST_CASE("of the programs known to be valid the least recently used are forgotten, one by one") {
  ir::ValidityCache cache(2);
  CHECK(cache.size() == 0);
  CHECK(cache.bytes() == 0);
  CHECK(validations(cache, 1) == 1);
  const std::uint64_t bytes = cache.bytes();
  CHECK(bytes >= sizeof(ir::Fingerprint));
  CHECK(validations(cache, 2) == 1);
  CHECK(validations(cache, 1) == 0);  // used later than two
  CHECK(validations(cache, 3) == 1);
  CHECK(cache.size() == 2);
  CHECK(cache.bytes() == 2 * bytes);
  CHECK(validations(cache, 1) == 0);
  CHECK(validations(cache, 2) == 1);
}

TEST_CASE("a program that is not valid is not remembered") {
  ir::ValidityCache cache;
  const ir::Program wrong = parsed("program p workgroup(1) { readonly o: u32[1]; o[0] = 1; }");
  CHECK(code_of(cache.get(wrong)) == ErrorCode::InvalidProgram);
  CHECK(cache.size() == 0);
}
