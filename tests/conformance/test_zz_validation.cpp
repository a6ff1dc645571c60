// Runs last, by its name: what the validation layer, if it is on, said to all tests before.
#include "conformance/conformance.h"
#include "vk/instance.h"

TEST_CASE("FELSITE_VALIDATION=1 has nothing to say to the conformance suite") {
  if (!felsite::test::on_vulkan()) return;
  felsite::test::tested();  // holds the instance
  const auto instance = felsite::vk::Instance::shared();
  REQUIRE(instance.has_value());
  for (const std::string& message : (*instance)->validation_log().messages()) MESSAGE(message);
  CHECK((*instance)->validation_log().count() == 0);
}
