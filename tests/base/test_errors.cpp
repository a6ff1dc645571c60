#include <doctest/doctest.h>

#include "base/errors.h"

using namespace felsite;

TEST_CASE("an error constructor names the code, and the program if there is one") {
  struct Row {
    Error error;
    ErrorCode code;
  };
  for (const Row& row :
       {Row{base::bad_inputs("m", "f", "p"), ErrorCode::BadInputs},
        Row{base::unsupported("m", "f", "p"), ErrorCode::UnsupportedFeature},
        Row{base::dispatch_failed("m", "f", "p"), ErrorCode::DispatchFailed},
        Row{base::invalid_handle("m", "f", "p"), ErrorCode::InvalidHandle},
        Row{base::out_of_memory("m", "f", "p"), ErrorCode::DeviceOutOfMemory},
        Row{base::make_error(ErrorCode::Timeout, "m", "f", "p"), ErrorCode::Timeout}}) {
    CHECK(row.error.code == row.code);
    CHECK(row.error.message == "m");
    CHECK(row.error.fix == "f");
    CHECK(row.error.context.program == "p");
  }
  CHECK(base::bad_inputs("m", "f").context.program.empty());
}

TEST_CASE("a limit names what was requested and what there is") {
  const Error error = base::over_limit("invocations in a workgroup", 2048, 1024, "use fewer.", "p");
  CHECK(error.code == ErrorCode::UnsupportedFeature);
  CHECK(error.message ==
        "The program takes 2048 invocations in a workgroup, and the device has 1024.");
  CHECK(error.context.requested == 2048);
  CHECK(error.context.available == 1024);
}

TEST_CASE("context is added to an error and leaves the rest as it is") {
  const Error error = base::with_device(
      base::with_step(base::with_amounts(base::bad_inputs("m", "f"), 3, 2), 7, "p"), "d");
  CHECK(to_string(error) == "BadInputs (1009): m [program p, step 7, device d] Fix: f");
  CHECK(error.context.requested == 3);
  CHECK(error.context.available == 2);
  CHECK(base::with_program(error, "q").context.program == "q");
}
