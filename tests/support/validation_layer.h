// What the validation layer, if FELSITE_VALIDATION turns it on, says to the tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "vk/instance.h"

namespace felsite::test {

inline std::string_view wanted_layer() {
  const char* const value = std::getenv("FELSITE_VALIDATION");
  return value == nullptr || *value == '\0' ? "0" : value;
}

// Since the last look it must have had nothing to say.
inline void check_silent_layers() {
  for (const std::string& message : vk::validation_log().take()) FAIL_CHECK(message);
}

// For a file that runs last, by its name, about all tests before it. A layer that is not there is
// silent, too, so the one that was asked for must have been there.
inline void check_all_was_valid() {
  if (wanted_layer() != "0") {
    const auto instance = vk::Instance::shared();
    REQUIRE(instance.has_value());
    CHECK_MESSAGE(
        (*instance)->validated(),
        "FELSITE_VALIDATION is set and VK_LAYER_KHRONOS_validation is not in force, so its "
        "silence means nothing. Fix: install the layer, as scripts/setup does (on Debian "
        "it is the package vulkan-validationlayers), or unset the variable.");
  }
  check_silent_layers();
}

}  // namespace felsite::test
