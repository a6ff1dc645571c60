// felsite run and spirv with a Vulkan driver.
#include <nlohmann/json.hpp>

#include "tool/tool_runner.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

constexpr int kProgram = 1;
constexpr int kDevice = 3;
constexpr std::string_view kEqual = "checked: equal to the reference\n";

Outcome run_checked(const Sample& sample, Arguments more = {}) {
  // What a driver leaks cannot be told from the tool's own leaks once the driver is unloaded at the
  // tool's end. Leaks on a device are looked for in test_device and test_vk.
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  more.insert(more.begin(), {"run", sample.path, "--marked", "--backend", "vulkan", "--check"});
  return run_tool(more);
}

bool is_one_kernel(const Sample& sample) {
  return !contains(sample.text, "gridsync;") && !contains(sample.text, "all_reduce") &&
         !contains(sample.text, "--fixpoint");
}

}  // namespace

TEST_CASE("samples of one kernel give what they state, checked against the reference") {
  int ran = 0;
  for (const Sample& sample : all_samples()) {
    const Outcome outcome = run_checked(sample);
    if (is_one_kernel(sample)) {
      check_expected(sample, outcome);
      CHECK(contains(outcome.err, kEqual));
      ++ran;
    } else {
      CAPTURE(sample.name);
      check_refused(outcome, kDevice, "UnsupportedFeature");
    }
  }
  CHECK(ran >= 10);
}

TEST_CASE("samples give the same on a device with nothing optional, or are refused by name") {
  for (const Sample& sample : all_samples()) {
    if (!is_one_kernel(sample)) continue;
    const Outcome outcome = run_checked(sample, {"--mask", "none"});
    CAPTURE(sample.name);
    CAPTURE(outcome.err);
    if (outcome.code == 0) {
      check_expected(sample, outcome);
      CHECK(contains(outcome.err, kEqual));
    } else {
      check_refused(outcome, kDevice, "The program needs ");
    }
  }
}

TEST_CASE("without --check nothing is said; with --json it is told") {
  const Sample saxpy = sample_named("saxpy");
  const Outcome plain = run_sample(saxpy, {"--backend", "vulkan", "--device", "0"});
  check_expected(saxpy, plain);
  CHECK(plain.err.empty());
  const json body = json::parse(run_checked(saxpy, {"--json"}).out);
  CHECK(body["checked"] == true);
  CHECK(body["passes_run"] == 1);
}

TEST_CASE("a device that differs from the reference is reported with place and bits") {
  const Scratch scratch;
  Sample sample = sample_named("saxpy");
  // Native functions, which no driver has to the last bit: of 64 angles some differ everywhere.
  sample.path = scratch.write("angles.fels",
                              "//! run: --input x=random:64:7 --output y=hex\n"
                              "program angles workgroup(64) fast { readonly x: f32[64];"
                              " output y: f32[64]; let i = local.x;"
                              " y[i] = asin(x[i]) + cos(x[i]) * exp(x[i]); }");
  const Outcome differs = run_checked(sample);
  check_refused(differs, kProgram, "The device differs from the reference: y[");
  CHECK(contains(differs.err, "has the bits "));
  CHECK(contains(differs.err, "and on the reference "));
}

TEST_CASE("a trap is the program's fault, a missing device or feature is not") {
  const Sample divide = sample_named("checked_divide");
  check_refused(run_checked(divide, {"-i", "b=1,0,1,1,1,1"}), kProgram, "Trap `zero_divisor`");
  const Sample saxpy = sample_named("saxpy");
  check_refused(run_checked(saxpy, {"--device", "nosuch"}), kDevice, "`nosuch`");
  check_refused(run_checked(saxpy, {"--mask", "subgroup_ballot,subgroup=127"}), kDevice,
                "more than the device has");
}

TEST_CASE("spirv --mask device lowers for the device at hand") {
  const std::string path = sample_named("saxpy").path;
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  const Outcome whole = run_tool({"spirv", path, "--mask", "device", "--json"});
  CHECK(whole.code == 0);
  const Outcome less = run_tool({"spirv", path, "--mask", "device,none,spirv=1.3", "--json"});
  CHECK(less.code == 0);
  CHECK(json::parse(less.out)["mask"].empty());
  CHECK(json::parse(less.out)["spirv"] == "1.3");
  CHECK(!json::parse(whole.out)["mask"].empty());
  check_refused(run_tool({"spirv", path, "--mask", "device", "--device", "nosuch"}), kDevice,
                "`nosuch`");
}
