// Runs last, by its name: what all tests before left behind.
#include <fmt/format.h>

#include "grid_sync/forms.h"
#include "support/validation_layer.h"

using namespace felsite::test;

TEST_CASE("one workgroup holds many of the grids it was given") {
  MESSAGE(
      fmt::format("one workgroup refused {} of {} grids", refusals().refused, refusals().asked));
  CHECK(refusals().refused * 4 <= refusals().asked * 3);
}

TEST_CASE("the validation layer has nothing to say to programs with grid barriers") {
  if (on_vulkan()) check_all_was_valid();
}
