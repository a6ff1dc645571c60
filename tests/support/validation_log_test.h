// For a file that runs last, by its name: what the validation layer, if it is on, said to all tests
// before.
#pragma once

#include "support/on_device.h"

TEST_CASE("FELSITE_VALIDATION=1 has nothing to say to any of these tests") {
  for (const std::string& message :
       felsite::test::test_device().instance().validation_log().messages()) {
    MESSAGE(message);
  }
  CHECK(felsite::test::test_device().instance().validation_log().count() == 0);
}
