// felsite trace on a Vulkan driver: rows, and a slice for each step.
#include "device_tool.h"
#include "tool/trace_reader.h"

using namespace felsite::test;

namespace {

Outcome trace(std::string_view sample, Arguments more = {}) {
  more.insert(more.begin(), {"trace", sample_named(sample).path, "--marked"});
  return run_device_tool(more);
}

}  // namespace

TEST_CASE("a trace has the device's row, with a slice for the step inside of the dispatch") {
  const std::string device = device_name();
  for (const char* sample : {"saxpy", "matrix_multiply", "mandelbrot"}) {
    CAPTURE(sample);
    const Outcome outcome = trace(sample);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.ends_with("trace: open it in ui.perfetto.dev or in chrome://tracing\n"));
    const std::vector<TraceSlice> slices = read_trace(outcome.out);
    const std::vector<TraceSlice> steps = device_slices(slices, device);
    REQUIRE(steps.size() == 1);
    CHECK(steps[0].name == sample);
    CHECK(steps[0].end > steps[0].begin);
    for (const char* call : {"dispatch", "compile", "record", "submit", "wait"}) {
      CAPTURE(call);
      CHECK(std::ranges::count(slices, call, &TraceSlice::name) == 1);
    }
  }
}

TEST_CASE("a trace of a run with --check has the reference's row too") {
  const Scratch scratch;
  const Outcome outcome = trace("saxpy", {"--check", "--to", scratch.path("trace.json")});
  check_expected(sample_named("saxpy"), outcome);
  CHECK(contains(outcome.err, "checked: equal to the reference\n"));
  const auto slices = read_trace(scratch.read("trace.json"));
  CHECK(device_slices(slices, device_name()).size() == 1);
  CHECK(device_slices(slices, "reference").size() == 1);
}

TEST_CASE("a trace of a program with grid barriers has a slice for each launch") {
  // 40 elements: 6 rounds of two segments each.
  const Outcome outcome = trace("prefix_scan", {"--grid-sync", "resident"});
  CHECK(outcome.code == 0);
  const auto steps = device_slices(read_trace(outcome.out), device_name());
  CHECK(steps.size() == 12);
  for (const TraceSlice& step : steps) CHECK(step.name.starts_with("prefix_scan segment "));
}

TEST_CASE("a trace of what runs on the reference says so") {
  const Outcome outcome = trace("saxpy", {"--order", "reversed"});
  CHECK(outcome.err.starts_with("note: saxpy runs on the reference: "));
  CHECK(device_slices(read_trace(outcome.out), "reference").size() == 1);
}
