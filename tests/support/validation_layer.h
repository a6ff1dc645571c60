// What the validation layer, if FELSITE_VALIDATION turns it on, says to the tests.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "vk/instance/instance.h"

namespace felsite::test {

// The value of the variable, "0" where it is not set.
inline std::string_view wanted_layer() {
  const char* const value = std::getenv("FELSITE_VALIDATION");
  return value == nullptr || *value == '\0' ? "0" : value;
}

// It must have reported nothing since the last check.
inline void check_silent_layers() {
  for (const std::string& message : vk::validation_log().take()) FAIL_CHECK(message);
}

}  // namespace felsite::test
