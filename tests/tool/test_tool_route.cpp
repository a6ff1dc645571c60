// What the backend `auto` runs on the reference, and what it says about that. Nothing here needs a
// device, and none is found: the rest is in tests/tool_device.
#include <nlohmann/json.hpp>

#include "tool_runner.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

Outcome run_auto(std::string_view sample, Arguments more = {}) {
  more.insert(more.begin(), {"run", sample_named(sample).path, "--marked", "--backend", "auto"});
  return run_tool(more);
}

}  // namespace

TEST_CASE("options of the reference alone choose it, which is said in one line") {
  const NoDriver none;
  for (const Arguments& options :
       {Arguments{"--order", "reversed"}, Arguments{"--seed", "7"},
        Arguments{"--subgroup-width", "8"}, Arguments{"--count-out-of-bounds"}}) {
    const Outcome outcome = run_auto("saxpy", options);
    check_expected(sample_named("saxpy"), outcome);
    CHECK(outcome.err.starts_with("note: saxpy runs on the reference: " + options[0] +
                                  " is for the reference alone\n"));
  }
}

TEST_CASE("what was given for a device and does nothing is named") {
  const NoDriver none;
  const Outcome outcome = run_auto("saxpy", {"--seed", "7", "--device", "0", "--json"});
  CHECK(contains(outcome.err, "; --device does nothing there\n"));
  const json body = json::parse(outcome.out);
  CHECK(body["backend"] == "reference");
  CHECK(body["device"] == "reference interpreter");
}

TEST_CASE("without a device nothing else is taken in its place") {
  const NoDriver none;
  for (const Arguments& options : {Arguments{}, Arguments{"--check"}, Arguments{"--device", "0"}}) {
    const Outcome outcome = run_auto("saxpy", options);
    check_refused(outcome, kDevice, "UnsupportedFeature");
    CHECK(contains(outcome.err, " Fix: install a Vulkan driver"));
    CHECK(contains(outcome.err, ", or use --backend reference.\n"));
  }
  const Outcome as_json = run_auto("saxpy", {"--json"});
  CHECK(as_json.code == kDevice);
  CHECK(
      contains(json::parse(as_json.out)["error"]["fix"].get<std::string>(), "--backend reference"));
  // Grid barriers and fixpoints are a device's work like any other.
  for (const char* name : {"prefix_scan", "reachability"}) {
    check_refused(run_auto(name), kDevice, "--backend reference");
  }
  const Sample scan = sample_named("prefix_scan");
  check_refused(run_tool({"run", scan.path, "--marked", "--backend", "vulkan"}), kDevice,
                "--backend reference");
}

TEST_CASE("options for a device and for the reference do not go together") {
  check_refused(run_auto("saxpy", {"--mask", "none", "--order", "reversed"}), kUsage,
                "--order is for the reference, which --check would run");
  check_refused(run_auto("saxpy", {"--check", "--subgroup-width", "8"}), kUsage,
                "--subgroup-width is for the reference");
}

TEST_CASE("--backend reference says nothing but the grid that nobody gave") {
  const Outcome outcome = run_sample(sample_named("prefix_scan"));
  check_expected(sample_named("prefix_scan"), outcome);
  CHECK(outcome.err == "grid: 3 workgroups of 16, for the 40 elements of `x`\n");
  CHECK(run_sample(sample_named("prefix_scan"), {"--grid", "3"}).err.empty());
}

TEST_CASE("--grid-sync names a form; on the reference that is the host split or none") {
  const Sample scan = sample_named("prefix_scan");
  for (const char* form : {"auto", "host-split"}) {
    check_expected(scan, run_sample(scan, {"--grid-sync", form}));
  }
  for (const char* form : {"resident", "one-workgroup"}) {
    check_refused(run_sample(scan, {"--grid-sync", form}), kDevice, "has native grid barriers");
  }
  check_refused(run_sample(scan, {"--grid-sync", "spin"}), kUsage, "spin");
}
