// felsite run, spirv and devices with a Vulkan driver.
#include <chrono>

#include "device_tool.h"
#include "felsite/vulkan.h"
#include "support/results.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

constexpr std::string_view kEqual = "checked: equal to the reference\n";

Outcome run_checked(const Sample& sample, Arguments more = {}) {
  more.insert(more.begin(), {"run", sample.path, "--marked", "--backend", "vulkan", "--check"});
  return run_device_tool(more);
}

}  // namespace

TEST_CASE("samples give what they state, checked against the reference") {
  int ran = 0;
  for (const Sample& sample : all_samples()) {
    const Outcome outcome = run_checked(sample);
    check_expected(sample, outcome);
    CHECK(contains(outcome.err, kEqual));
    ++ran;
  }
  CHECK(ran >= 10);
}

TEST_CASE("samples give the same on a device with nothing optional, or are refused by name") {
  for (const Sample& sample : all_samples()) {
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

TEST_CASE("without --check the text is silent about it; with --json it is reported") {
  const Sample saxpy = sample_named("saxpy");
  const Outcome plain = run_sample(saxpy, {"--backend", "vulkan", "--device", "0"});
  check_expected(saxpy, plain);
  CHECK(plain.err == "grid: 1 workgroup of 64, for the 8 elements of `x`\n");
  const json body = json::parse(run_checked(saxpy, {"--json"}).out);
  CHECK(body["checked"] == true);
  CHECK(body["iterations_run"] == 1);
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
  const Outcome whole = run_device_tool({"spirv", path, "--mask", "device", "--json"});
  CHECK(whole.code == 0);
  const Outcome less =
      run_device_tool({"spirv", path, "--mask", "device,none,spirv=1.3", "--json"});
  CHECK(less.code == 0);
  CHECK(json::parse(less.out)["mask"].empty());
  CHECK(json::parse(less.out)["kernels"][0]["spirv"] == "1.3");
  CHECK(!json::parse(whole.out)["mask"].empty());
  check_refused(run_device_tool({"spirv", path, "--mask", "device", "--device", "nosuch"}), kDevice,
                "`nosuch`");
}

TEST_CASE("devices lists the device that would be taken, and why") {
  const Outcome plain = run_device_tool({"devices"});
  CHECK(plain.code == 0);
  CHECK(plain.err.empty());
  CHECK(contains(plain.out, "name "));
  CHECK(contains(plain.out, "\n   taken: it is the first of the strongest kind"));
  CHECK_FALSE(contains(plain.out, "UUID"));
  const Outcome detailed = run_device_tool({"devices", "--device", "0"});
  CHECK(contains(detailed.out, "\n   taken: it is device 0\n"));
  for (const char* word : {"UUID", "runtime features", "extensions", "queues", "uploads",
                           "downloads", "quirk", "note"}) {
    CAPTURE(word);
    CHECK(contains(detailed.out, std::string("\n  ") + word));
  }
  CHECK(contains(run_device_tool({"devices", "--mask", "none"}).out, "staged"));
}

TEST_CASE("devices shows the profile that a backend on the device reports, in both forms") {
  const auto backend = must(felsite::make_vulkan_backend());
  const felsite::DeviceProfile profile = backend->device_profile();
  const json body = json::parse(run_device_tool({"devices", "--json"}).out);
  const json& shown = body["devices"][body["chosen"].get<std::size_t>()]["profile"];
  CHECK(shown.size() == 43);
  CHECK(shown["backend"] == "vulkan");
  CHECK(shown["name"] == profile.name);
  CHECK(shown["int64"] == profile.int64);
  CHECK(shown["native_int_bits"] == profile.native_int_bits);
  CHECK(shown["traps"] == true);
  CHECK(shown["async_compute"] == profile.async_compute);
  CHECK(shown["specialization_constants"] == false);
  CHECK(shown["max_workgroup_size"] == json(profile.max_workgroup_size));
  CHECK(shown["ideal_workgroup_size"] == json({64, 1, 1}));
  CHECK(shown["cache_bytes"] == json(profile.cache_bytes));
  CHECK(shown["memory_heaps"].size() == profile.memory_heaps.size());
  CHECK(shown["memory_heaps"][0] == json{{"bytes", profile.memory_heaps[0].bytes},
                                         {"device_local", profile.memory_heaps[0].device_local},
                                         {"host_visible", profile.memory_heaps[0].host_visible}});
  CHECK(shown["prices"]["barrier"] == profile.prices.barrier);
  CHECK(shown["timing_quality"] == to_string(profile.timing_quality));
  CHECK(shown["quirks"] == json(profile.quirks));
  CHECK(shown["emulations"] == json(profile.emulations));

  const std::string text = run_device_tool({"devices", "--device", "0"}).out;
  CHECK(contains(text, "\nprofile of device 0\n  backend                      vulkan\n"));
  CHECK(contains(text, "\n  traps                        yes\n"));
  CHECK(contains(text, "\n  specialization constants     no\n"));
  CHECK(contains(text, "\n  ideal workgroup size         64, 1, 1\n"));
  CHECK(contains(text, " of one workgroup. f16 and bf16 are "));
  CHECK(contains(text, "device_local yes, host_visible yes\n"));
  const json masked = json::parse(run_device_tool({"devices", "--json", "--mask", "none"}).out);
  const json& less = masked["devices"][0]["profile"];
  CHECK(less["native_int_bits"] == 32);
  CHECK(less["subgroup_ops"] == false);
}

TEST_CASE("devices --json has all facts, and they lead back to the device") {
  const Outcome outcome = run_device_tool({"devices", "--json"});
  CHECK(outcome.code == 0);
  const json body = json::parse(outcome.out);
  REQUIRE(body["chosen"] == 0);
  const json& device = body["devices"][0];
  for (const char* key : {"position",  "name",
                          "kind",      "uuid",
                          "vendor_id", "device_id",
                          "driver",    "vulkan",
                          "spirv",     "usable",
                          "chosen",    "reason",
                          "features",  "runtime_features",
                          "limits",    "queue_families",
                          "memory",    "quirks",
                          "plan",      "profile"}) {
    CAPTURE(key);
    CHECK(device.contains(key));
  }
  CHECK(device["usable"] == true);
  CHECK(device["limits"]["workgroup_invocations"].get<int>() >= 128);
  CHECK(device["memory"]["heaps"].size() >= 1);
  CHECK(device["plan"]["writes_in_place"] == true);
  CHECK(device["plan"]["transfer_family"].is_null());
  const auto uuid = device["uuid"].get<std::string>();
  REQUIRE(uuid.size() == 32);
  const json again = json::parse(run_device_tool({"devices", "--json", "--device", uuid}).out);
  CHECK(again["devices"][0]["reason"] == "its UUID begins with `" + uuid + "`");

  const std::string mask = "none,timeline_semaphores,transfer_queue";
  const json masked = json::parse(run_device_tool({"devices", "--json", "--mask", mask}).out);
  const json& plan = masked["devices"][0]["plan"];
  CHECK(plan["features"].empty());
  CHECK(plan["runtime_features"] == json::array({"timeline_semaphores", "transfer_queue"}));
  CHECK(plan["transfer_family"] == plan["compute_family"]);
  CHECK(plan["writes_in_place"] == false);
  CHECK(masked["devices"][0]["features"] == device["features"]);
}

TEST_CASE("devices without one to take ends with 3, a wrong mask with 2") {
  const Outcome nosuch = run_device_tool({"devices", "--device", "nosuch"});
  CHECK(nosuch.code == kDevice);
  CHECK(contains(nosuch.out, "not taken: its name does not contain `nosuch`"));
  CHECK(contains(nosuch.err, " Fix: "));
  const Outcome as_json = run_device_tool({"devices", "--device", "nosuch", "--json"});
  CHECK(as_json.code == kDevice);
  CHECK(json::parse(as_json.out)["chosen"].is_null());
  check_refused(run_device_tool({"devices", "--mask", "bogus"}), 2, "`bogus`");
}

TEST_CASE("a run takes away what the runtime uses, and FELSITE_DEVICE names the device") {
  const Sample saxpy = sample_named("saxpy");
  for (const char* mask : {"-timeline_semaphores", "-synchronization2", "-push_descriptors",
                           "-in_place_memory", "transfer_queue", "none"}) {
    CAPTURE(mask);
    const Outcome outcome = run_checked(saxpy, {std::string("--mask=") + mask});
    check_expected(saxpy, outcome);
    CHECK(contains(outcome.err, kEqual));
  }
  setenv("FELSITE_DEVICE", "nosuch", 1);
  check_refused(run_checked(saxpy), kDevice, "`nosuch`");
  check_expected(saxpy, run_checked(saxpy, {"--device", "0"}));
  unsetenv("FELSITE_DEVICE");
}

TEST_CASE("a timeout that nothing can keep is said as any other") {
  for (const char* seconds : {"1e-300", "1e-10"}) {
    const Outcome outcome = run_sample(sample_named("saxpy"), {"--timeout", seconds});
    CAPTURE(outcome.err);
    CHECK(outcome.code == kProgram);
    CHECK(contains(outcome.err, "The program did not finish within the timeout."));
    CHECK(contains(outcome.err, " Fix: allow more time"));
  }
}

TEST_CASE("a timeout ends the command, although the device goes on working") {
  setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run_tool(
      {"run", "-", "--timeout", "0.2", "--grid", "1000000", "-i", "x=1", "-i", "y=0"},
      "program slow workgroup(64) { readonly x: u32[]; readwrite y: u32[];"
      " let s = invocation.x; loop k in 0..50000 { s = (s * 1664525 + 1013904223) ^ (s >> 7); }"
      " if s == x[0] { y[0] = s; } }");
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(outcome.code == kProgram);
  CHECK(outcome.err.find("Timeout") != std::string::npos);
  // Without this, closing the device would wait for five seconds.
  CHECK(took < std::chrono::milliseconds(4800));
}
