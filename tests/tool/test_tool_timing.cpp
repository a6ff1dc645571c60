// run --timing and trace, on the reference. On devices: tests/tool_device.
#include <nlohmann/json.hpp>

#include "trace_reader.h"

using namespace felsite::test;
using nlohmann::json;

TEST_CASE("--timing says what was measured, and what was not") {
  const Sample sample = sample_named("saxpy");
  const Outcome outcome = run_sample(sample, {"--timing"});
  check_expected(sample, outcome);
  CAPTURE(outcome.err);
  CHECK(
      outcome.err.starts_with("grid: 1 workgroup of 64, for the 8 elements of `x`\n"
                              "ran on       reference interpreter, backend reference\nwall  "));
  CHECK(contains(outcome.err, "\ndevice       not measured\n"));
  CHECK(contains(outcome.err, "\niterations   1\n"));
  CHECK(contains(outcome.err, "\nlaunches     1\n"));
  CHECK(contains(outcome.err, "\nbytes up     68\n"));
  CHECK(contains(outcome.err, "\nbytes down   32\n"));
  CHECK(contains(outcome.err, "\npipelines    1 compiled, 0 found ready\n"));
}

TEST_CASE("--timing of a fixpoint says how it ended, once") {
  const Outcome outcome = run_sample(sample_named("reachability"), {"--timing"});
  CHECK(contains(outcome.err, "\niterations   4, converged\n"));
  CHECK(!contains(outcome.err, "4 iterations"));
  const Outcome bound =
      run_sample(sample_named("reachability"), {"--timing", "--convergence", "none"});
  CHECK(contains(bound.err, "\niterations   16, not converged\n"));
}

TEST_CASE("--timing gives sizes in readable units, and exact") {
  const Outcome outcome =
      run_tool({"run", sample_named("saxpy").path, "-i", "a=1", "-i", "x=zeros:1000", "-i",
                "y=zeros:262144", "--timing", "--limit", "1"});
  CHECK(contains(outcome.err, "\nbytes down   1048576 (1.0 MiB)\n"));
}

TEST_CASE("--timing as JSON: what was not measured is null") {
  const Outcome outcome = run_sample(sample_named("saxpy"), {"--timing", "--json"});
  CHECK(outcome.err.empty());
  const json timing = json::parse(outcome.out)["timing"];
  CHECK(timing["wall_ns"].is_number_unsigned());
  CHECK(timing.at("device_ns").is_null());
  CHECK(timing["iterations_run"] == 1);
  CHECK(timing["converged"] == false);
  CHECK(timing["launches"] == 1);
  CHECK(timing["upload_bytes"] == 68);
  CHECK(timing["download_bytes"] == 32);
  CHECK(timing["pipelines_compiled"] == 1);
  CHECK(timing["pipelines_cached"] == 0);
  for (const char* key : {"enqueue_ns", "wait_ns", "submissions", "barriers"}) {
    CHECK(timing.contains(key));
  }
  CHECK(!json::parse(run_sample(sample_named("saxpy"), {"--json"}).out).contains("timing"));
}

TEST_CASE("trace writes to standard output, and the results stay away from it") {
  const Sample sample = sample_named("saxpy");
  for (const Arguments& to : {Arguments{}, Arguments{"--to", "-"}}) {
    Arguments arguments{"trace", sample.path, "--marked"};
    arguments.insert(arguments.end(), to.begin(), to.end());
    const Outcome outcome = run_tool(arguments);
    CHECK(outcome.code == 0);
    CHECK(outcome.err ==
          "grid: 1 workgroup of 64, for the 8 elements of `x`\n"
          "trace: open it in ui.perfetto.dev or in chrome://tracing\n");
    CHECK(device_slices(read_trace(outcome.out), "reference").size() == 1);
  }
}

TEST_CASE("trace writes to a file, and shows the results as run does") {
  const Scratch scratch;
  const Sample sample = sample_named("reachability");
  const std::string file = scratch.path("trace.json");
  const Outcome outcome = run_tool({"trace", sample.path, "--marked", "--to", file});
  check_expected(sample, outcome);
  CHECK(outcome.err ==
        "grid: 1 workgroup of 32, for the 8 elements of `reach`\n"
        "4 iterations, converged\ntrace: written to " +
            file + "; open it in ui.perfetto.dev or in chrome://tracing\n");
  const auto iterations = device_slices(read_trace(scratch.read("trace.json")), "reference");
  REQUIRE(iterations.size() == 4);
  for (const TraceSlice& iteration : iterations) CHECK(iteration.name == "reachability");
  const Outcome as_json =
      run_tool({"trace", sample.path, "--marked", "--to", file, "--json", "--timing"});
  CHECK(json::parse(as_json.out)["timing"]["launches"] == 4);
}

TEST_CASE("a result goes into a file while the trace has standard output") {
  const Scratch scratch;
  const Outcome outcome = run_tool({"trace", sample_named("saxpy").path, "--marked", "-o",
                                    "y=@" + scratch.path("y"), "--timing"});
  CHECK(outcome.code == 0);
  CHECK(scratch.read("y").size() == 32);
  CHECK(contains(outcome.err, "\nlaunches     1\n"));
  CHECK(!read_trace(outcome.out).empty());
}

TEST_CASE("trace refuses what run refuses, and two things on one stream") {
  const std::string path = sample_named("saxpy").path;
  check_refused(run_tool({"trace", path, "--marked", "-o", "y=@-"}), 2,
                "cannot both go to standard output");
  check_refused(run_tool({"trace", path}), 1, "The input `a` (f32) is missing");
  check_refused(run_tool({"trace", path, "--marked", "--mask", "none"}), 2,
                "see felsite trace --help");
  check_refused(run_tool({"trace", path, "--marked", "--to", "/dev/null/trace"}), 1,
                "Cannot write `/dev/null/trace`");
  check_refused(
      run_tool({"trace", sample_named("checked_divide").path, "--marked", "-i", "b=1,0,1,1,1,1"}),
      1, "Trap `zero_divisor`");
}
