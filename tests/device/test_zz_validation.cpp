// Runs last, by the name of its file: what the validation layer, if it is on, said to all tests
// before.
#include "support/on_device.h"

using namespace felsite::test;

TEST_CASE("FELSITE_VALIDATION=1 has nothing to say to any of these tests") {
  for (const std::string& message : test_device().instance().validation_log().messages()) {
    MESSAGE(message);
  }
  CHECK(test_device().instance().validation_log().count() == 0);
}
