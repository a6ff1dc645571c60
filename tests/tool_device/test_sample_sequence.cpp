// The samples that docs/vulkan.md quotes.
#include "device_tool.h"

using namespace felsite::test;

TEST_CASE("the sample with a recorded sequence gives the reference's bits, and records once") {
  const std::string device = device_name();
  const Outcome outcome = run_binary(FELSITE_SAMPLE_SEQUENCE, {});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with(device + "\n"));
  CHECK(contains(outcome.out, "\nsecond run: 0 recordings, 1 submissions, 64 launches, "));
  CHECK(outcome.out.ends_with("\nequal to the reference\n"));
}

TEST_CASE("the sample with a search in one submission waits once, and gives the reference's bits") {
  const std::string device = device_name();
  const Outcome outcome = run_binary(FELSITE_SAMPLE_ONE_WAIT, {});
  CAPTURE(outcome.err);
  CAPTURE(outcome.out);
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with(device + "\n900 nodes reached in "));
  CHECK(contains(outcome.out, ", the last of them empty\n"));
  CHECK(contains(outcome.out, " 1 waits, "));
  CHECK(outcome.out.ends_with("\nequal to the reference\n"));
}
