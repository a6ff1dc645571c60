// Runs last, by its name: what all tests before left behind.
#include <fmt/format.h>

#include "grid_sync/forms.h"
#include "vk/instance.h"

using namespace felsite::test;

TEST_CASE("one workgroup holds many of the grids it was given") {
  MESSAGE(
      fmt::format("one workgroup refused {} of {} grids", refusals().refused, refusals().asked));
  CHECK(refusals().refused * 4 <= refusals().asked * 3);
}

TEST_CASE("FELSITE_VALIDATION=1 has nothing to say to programs with grid barriers") {
  if (!on_vulkan()) return;
  tested();  // holds the instance
  const auto instance = felsite::vk::Instance::shared();
  REQUIRE(instance.has_value());
  for (const std::string& message : (*instance)->validation_log().messages()) MESSAGE(message);
  CHECK((*instance)->validation_log().count() == 0);
}
