// What the reference keeps: prepared programs, and resident memory within its limit.
#include <doctest/doctest.h>

#include "dispatch/reference/reference_programs.h"
#include "felsite/reference.h"
#include "support/results.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

ir::Program add_number(std::uint32_t number) {
  return valid_program(
      "program add_number workgroup(4) { readwrite x: u32[];"
      " let i = invocation.x; if i < len(x) { x[i] = x[i] + " +
      std::to_string(number) + "; } }");
}

}  // namespace

TEST_CASE("of the programs made ready the least recently used go, one by one") {
  dispatch::PreparedPrograms programs(2);
  const auto one = must(programs.get(add_number(1)));
  const std::uint64_t bytes = programs.snapshot().bytes;
  CHECK(bytes > 0);
  must(programs.get(add_number(2)));
  CHECK(must(programs.get(add_number(1))) == one);  // used later than two
  must(programs.get(add_number(3)));
  CHECK(programs.snapshot().entries == 2);
  CHECK(programs.snapshot().evictions == 1);
  CHECK(programs.snapshot().bytes == 2 * bytes);
  CHECK(must(programs.get(add_number(1))) == one);
  const std::uint64_t misses = programs.snapshot().misses;
  must(programs.get(add_number(2)));
  CHECK(programs.snapshot().misses == misses + 1);
  programs.clear();
  CHECK(programs.snapshot().entries == 0);
  CHECK(programs.snapshot().bytes == 0);
  CHECK(must(programs.get(add_number(1))) != one);
}

TEST_CASE("all resident buffers of the reference together stay within its memory limit") {
  const auto backend = make_reference_backend({.memory_limit = 1 << 20});
  std::vector<ResidentHandle> handles;
  for (int i = 0; i < 4; ++i) handles.push_back(must(backend->allocate_resident(1 << 18)));
  const auto refused = backend->allocate_resident(1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::DeviceOutOfMemory);
  CHECK(refused.error().context.requested == 1);
  CHECK(refused.error().context.available == 0);
  must(backend->free_resident(handles.back()));
  CHECK(backend->allocate_resident(1 << 18));
}
