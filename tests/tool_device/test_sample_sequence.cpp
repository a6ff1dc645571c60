// samples/resident_sequence.cpp, which docs/vulkan.md quotes.
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
