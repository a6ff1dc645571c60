// felsite run without --backend, and --timing, on a Vulkan driver.
#include "device_tool.h"
#include "tool/document_examples.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

Outcome run_default(const Sample& sample, Arguments more = {}) {
  more.insert(more.begin(), {"run", sample.path, "--marked"});
  return run_device_tool(more);
}

}  // namespace

TEST_CASE("every sample runs without a word about backends, checked where a device ran it") {
  int on_device = 0;
  for (const Sample& sample : all_samples()) {
    const Outcome outcome = run_default(sample, {"--check"});
    check_expected(sample, outcome);
    const bool noted = outcome.err.starts_with("note: " + sample.name + " runs on the reference: ");
    CHECK(contains(outcome.err, "checked: equal to the reference\n") == !noted);
    // The tool's reason is the backend's: what it sends elsewhere is what the backend refuses.
    const Outcome refused = run_default(sample, {"--backend", "vulkan"});
    CHECK((refused.code == kDevice) == noted);
    on_device += noted ? 0 : 1;
  }
  CHECK(on_device >= 10);
}

TEST_CASE("a run on a device says its grid and no more, and JSON names the device") {
  const Sample saxpy = sample_named("saxpy");
  const Outcome plain = run_default(saxpy);
  check_expected(saxpy, plain);
  CHECK(plain.err == "grid: 1 workgroup of 64, for the 8 elements of `x`\n");
  const json body = json::parse(run_default(saxpy, {"--json"}).out);
  CHECK(body["backend"] == "vulkan");
  CHECK(body["device"] == device_name());
  CHECK(!body.contains("checked"));
  CHECK(json::parse(run_default(saxpy, {"--json", "--check"}).out)["checked"] == true);
}

TEST_CASE("options of the reference go to the run that --check adds") {
  const Sample saxpy = sample_named("saxpy");
  const Outcome outcome =
      run_default(saxpy, {"--check", "--order", "reversed", "--count-out-of-bounds"});
  check_expected(saxpy, outcome);
  CHECK(contains(outcome.err, "out of bounds: "));
  CHECK(contains(outcome.err, "checked: equal to the reference\n"));
  CHECK(!contains(outcome.err, "note: "));
}

TEST_CASE("a named backend is kept, and a named device too") {
  check_refused(run_default(sample_named("saxpy"), {"--device", "nosuch"}), kDevice, "`nosuch`");
  const Outcome trapped = run_default(sample_named("checked_divide"), {"-i", "b=1,0,1,1,1,1"});
  check_refused(trapped, kProgram, "Trap `zero_divisor`");
  const json body =
      json::parse(run_default(sample_named("saxpy"), {"--backend", "reference", "--json"}).out);
  CHECK(body["backend"] == "reference");
}

TEST_CASE("grid barriers and fixpoints give the same in every form that can be asked for") {
  for (const char* name : {"closure", "prefix_scan", "reachability"}) {
    const Sample sample = sample_named(name);
    for (const char* form : {"auto", "host-split", "resident", "one-workgroup"}) {
      CAPTURE(form);
      const Outcome outcome = run_default(sample, {"--check", "--grid-sync", form});
      check_expected(sample, outcome);
      CHECK(contains(outcome.err, "checked: equal to the reference\n"));
    }
  }
  check_refused(
      run_default(sample_named("prefix_scan"), {"--grid", "4096", "--grid-sync", "one-workgroup"}),
      kDevice, "The grid cannot run as one workgroup");
}

TEST_CASE("without a driver a run is refused, with the way to the reference") {
  const Environment old_name("VK_ICD_FILENAMES", "/dev/null/none.json");
  const Environment new_name("VK_DRIVER_FILES", "/dev/null/none.json");
  const Outcome outcome = run_default(sample_named("saxpy"));
  check_refused(outcome, kDevice, "Vulkan");
  CHECK(contains(outcome.err, "--backend reference"));
}

TEST_CASE("a wrong FELSITE_VALIDATION is named, and no driver is asked for") {
  const Environment wrong("FELSITE_VALIDATION", "frob");
  for (const Outcome& outcome :
       {run_default(sample_named("saxpy")), run_device_tool({"devices"})}) {
    check_refused(outcome, kProgram, "FELSITE_VALIDATION is `frob`");
    CHECK(contains(outcome.err, "Fix: set it to 1 or sync, or unset it."));
    CHECK(!contains(outcome.err, "install"));
  }
}

TEST_CASE("a damaged file of a driver is called that, and not a lack of memory") {
  const Scratch scratch;
  for (const char* text : {"{", "garbage", "{\"ICD\": ["}) {
    const std::string file = scratch.write("driver.json", text);
    const Environment old_name("VK_ICD_FILENAMES", file.c_str());
    const Environment new_name("VK_DRIVER_FILES", file.c_str());
    for (const Outcome& outcome :
         {run_default(sample_named("saxpy")), run_device_tool({"devices"})}) {
      CHECK(outcome.code == kDevice);
      CAPTURE(outcome.err);
      CHECK(contains(outcome.err, "UnsupportedFeature"));
      CHECK(!contains(outcome.err, "OutOfMemory"));
      CHECK(!contains(outcome.err, "smaller"));
      CHECK(contains(outcome.err, " Fix: "));
    }
  }
}

TEST_CASE("a loop that the driver would cut short is exit code 3") {
  const Scratch scratch;
  const std::string program =
      scratch.write("long.fels",
                    "program long workgroup(1) { output n: u32[1]; readonly m: u32[1];"
                    " loop i in 0..m[0] { n[0] = n[0] + 1; } }");
  const Outcome outcome = run_device_tool({"run", program, "-i", "m=100000"});
  // Where the driver stops a loop after 65535 trips, which most do not.
  if (contains(run_tool({"devices", "--json"}).out, "lavapipe-loop-limiter")) {
    check_refused(outcome, kDevice, "LoopBudgetExceeded");
  } else {
    CHECK(outcome.out == "n = 100000\n");
  }
}

TEST_CASE("--timing on a device measures every part") {
  const Sample saxpy = sample_named("saxpy");
  const Outcome outcome = run_default(saxpy, {"--timing"});
  check_expected(saxpy, outcome);
  CAPTURE(outcome.err);
  CHECK(contains(outcome.err, "\nran on       " + device_name() + ", backend vulkan\n"));
  CHECK(!contains(outcome.err, "not measured"));
  for (const char* title : {"wall", "device", "enqueue", "wait", "barriers", "pipelines"}) {
    CHECK(contains(outcome.err, std::string("\n") + title + " "));
  }
  CHECK(contains(outcome.err, "\nlaunches     1\n"));
  CHECK(contains(outcome.err, "\nsubmissions  1\n"));

  const json timing =
      json::parse(run_default(saxpy, {"--timing", "--json", "--check"}).out)["timing"];
  const auto wall = timing["wall_ns"].get<std::uint64_t>();
  CHECK(timing["device_ns"].get<std::uint64_t>() <= wall);
  CHECK(timing["enqueue_ns"].get<std::uint64_t>() + timing["wait_ns"].get<std::uint64_t>() <= wall);
  // The run that --check adds does not count.
  CHECK(timing["launches"] == 1);
  CHECK(timing["submissions"] == 1);
  CHECK(timing["upload_bytes"] == 68);
  CHECK(timing["download_bytes"] == 32);
  CHECK(timing["pipelines_compiled"] == 1);
}

TEST_CASE("the examples in the documents give on a device what they show") {
  int examples = 0;
  for (const char* document : {"/README.md", "/docs/tool.md"}) {
    const Scratch scratch;
    for (const Example& example : examples_in(document, scratch)) {
      CAPTURE(example.line);
      CHECK(as_shown(run_device_tool(example.arguments)) == example.shown);
      ++examples;
    }
  }
  CHECK(examples >= 8);
}
