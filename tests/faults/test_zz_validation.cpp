// Runs last, by its name: what the validation layer, if it is on, said to all tests before.
#include "support/validation_layer.h"

TEST_CASE("the validation layer has nothing to say to a backend whose calls fail") {
  felsite::test::check_all_was_valid();
}
