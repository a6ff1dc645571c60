// Runs last, by its name: what the validation layer, if it is on, said to all tests before. Each of
// their instances has been closed since, and its messages were noted.
#include <doctest/doctest.h>

#include "faults/fault_walk.h"

TEST_CASE("FELSITE_VALIDATION=1 has nothing to say to a backend whose calls fail") {
  for (const std::string& message : felsite::test::layer_messages()) MESSAGE(message);
  CHECK(felsite::test::layer_messages().empty());
}
