// A test that cannot run here says so: it is counted, and printed with its reason when all have
// run. One that just returned would count as passed.
//
//   TEST_CASE("subgroups are in linear order") {
//     FELSITE_SKIP_IF(!linear_subgroups, "the driver is not known for linear subgroups");
#pragma once

#include <string_view>

#define FELSITE_SKIP_IF(condition, reason) \
  if (condition) return ::felsite::test::note_skip(reason)

namespace felsite::test {

// What follows in the test case that runs now, or the part of it, is left out.
void note_skip(std::string_view reason);

}  // namespace felsite::test
