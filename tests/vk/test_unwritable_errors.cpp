// A standard error that cannot be written is no reason to fail, to throw or to hang.
#include <doctest/doctest.h>

#include <cstdio>
#include <stdexcept>

#include "felsite/text.h"
#include "felsite/vulkan.h"
#include "felsite/warnings.h"
#include "support/own_process.h"
#include "support/run_program.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// A layer that is wanted and not there: a warning, while the instance is made.
const std::vector<std::string> kWarned{"FELSITE_VALIDATION=1", "VK_LAYER_PATH=/nonexistent",
                                       "VK_ADD_LAYER_PATH=", "VK_LAYER_SETTINGS_PATH="};

void run_and_close() {
  for (int i = 0; i < 2; ++i) {  // the second one needs the lock of the first
    const auto backend = make_vulkan_backend();
    REQUIRE_MESSAGE(backend.has_value(), to_string(backend.error()));
    const auto program =
        ir::parse("program one workgroup(1) { readwrite x: u32[]; x[0] = x[0] + 1; }");
    REQUIRE(program.has_value());
    const auto outputs = (*backend)->dispatch(*program, {bytes_of(Words{41})});
    REQUIRE(outputs.has_value());
    CHECK(words_of(outputs->front()) == Words{42});
  }
}

}  // namespace

TEST_CASE("a part of another process: a warning that standard error does not take" *
          doctest::skip()) {
  REQUIRE(std::freopen("/dev/full", "w", stderr) != nullptr);
  run_and_close();
}

TEST_CASE("a part of another process: a warning that its handler throws over" * doctest::skip()) {
  static int told = 0;
  set_warning_handler([](std::string_view) {
    ++told;
    throw std::runtime_error("no");
  });
  run_and_close();
  CHECK(told == 2);
  set_warning_handler(nullptr);
}

TEST_CASE("a warning that standard error does not take fails nothing and hangs nothing") {
  OwnProcess process("a part of another process: a warning that standard error does not take",
                     kWarned);
  CHECK(process.wait(std::chrono::seconds(120)) == 0);
}

TEST_CASE("a warning whose handler throws fails nothing and hangs nothing") {
  OwnProcess process("a part of another process: a warning that its handler throws over", kWarned);
  CHECK(process.wait(std::chrono::seconds(120)) == 0);
}
