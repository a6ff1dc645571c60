// Every call to Vulkan, the allocator's included, fails once, with each result that it can give: an
// error comes back, nothing leaks, and the backend works afterwards or can be recovered.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "faults/fault_injection.h"
#include "faults/scenarios.h"
#include "felsite/warnings.h"
#include "vk/vulkan_backend.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// A new device for each fault: what earlier work cached would hide calls.
Result<std::unique_ptr<vk::VulkanBackend>> open_backend(const std::string& mask,
                                                        const std::filesystem::path& cache) {
  return vk::VulkanBackend::make(
      {.open = [mask] { return vk::open_device({.mask = mask}, intercept_device); },
       .cache_folder = cache});
}

ErrorCode code_of(FaultKind kind, std::string_view function) {
  switch (kind) {
    case FaultKind::HostMemory:
    case FaultKind::DeviceMemory:
      return ErrorCode::DeviceOutOfMemory;
    case FaultKind::Lost:
      return ErrorCode::DeviceLost;
    case FaultKind::Timeout:
      return ErrorCode::Timeout;
    case FaultKind::Broken:
      return function == "vkCreateComputePipelines" ? ErrorCode::KernelCompileFailed
                                                    : ErrorCode::DispatchFailed;
  }
  return ErrorCode::Unknown;
}

void begin(int fail_at, FaultKind kind) {
  FaultState& state = fault_state();
  state.calls = 0;
  state.fail_at = fail_at;
  state.kind = kind;
  state.failed = false;
  state.stays_lost = false;
  state.log.clear();
  state.kinds.clear();
  state.counting = true;
}

void end() {
  fault_state().counting = false;
  fault_state().stays_lost = false;
}

// Opens, works, closes.
Result<void> open_and_run(const Scenario& scenario, const std::string& mask,
                          const std::filesystem::path& cache) {
  auto backend = open_backend(mask, cache);
  if (!backend) return std::unexpected(std::move(backend.error()));
  auto done = scenario.run(**backend);
  if (scenario.ends_with && !done && done.error().code == *scenario.ends_with) done = {};
  const bool lost = fault_state().stays_lost;
  fault_state().counting = false;

  // Whatever happened, it works now, or says that it is lost until it is recovered.
  if (!done && done.error().code == ErrorCode::DeviceLost) {
    CHECK((*backend)->device_lost());
    const auto refused = run_small_dispatch(**backend);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::DeviceLost);
    fault_state().stays_lost = false;
    const auto recovered = (*backend)->try_recover();
    CHECK_MESSAGE(recovered.has_value(), to_string(recovered.error()));
  } else if (lost) {
    // The call was only a look whether something has ended: the next one that needs the device
    // finds out, or it was a look without consequence.
    fault_state().stays_lost = false;
    const auto next = run_small_dispatch(**backend);
    if (!next) CHECK(next.error().code == ErrorCode::DeviceLost);
    CHECK((*backend)->device_lost() == !next.has_value());
    CHECK((*backend)->try_recover().has_value());
  }
  const auto works = run_small_dispatch(**backend);
  CHECK_MESSAGE(works.has_value(), to_string(works.error()));
  return done;
}

std::string what_is_alive() {
  std::string text;
  for (const auto& [kind, count] : fault_state().alive_by_kind) {
    if (count != 0) text += fmt::format(" {} {}", count, kind);
  }
  return text;
}

struct Walk {
  int faults = 0;    // injected
  int errors = 0;    // that came back as errors
  int overcome = 0;  // that the work got over
  std::set<std::string> functions{};
};

void walk(const Scenario& scenario, const std::string& mask, const std::filesystem::path& cache,
          Walk& seen) {
  CAPTURE(scenario.name);
  CAPTURE(mask);
  begin(-1, FaultKind::HostMemory);
  const auto clean = open_and_run(scenario, mask, cache);
  end();
  REQUIRE_MESSAGE(clean.has_value(), to_string(clean.error()));
  REQUIRE_MESSAGE(fault_state().alive == 0, what_is_alive());
  const std::vector<std::string> calls = fault_state().log;
  const std::vector<std::vector<FaultKind>> kinds = fault_state().kinds;
  seen.functions.insert(calls.begin(), calls.end());

  // The sanitizers see all the code with one result for each call.
  const char* const sparing = std::getenv("FELSITE_FAULTS_SPARING");
  for (int call = 0; call < static_cast<int>(calls.size()); ++call) {
    const std::vector<FaultKind>& each = kinds[static_cast<std::size_t>(call)];
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (sparing != nullptr && i != static_cast<std::size_t>(call) % each.size()) continue;
      const std::string_view function = calls[static_cast<std::size_t>(call)];
      CAPTURE(call);
      CAPTURE(function);
      const int kind = static_cast<int>(each[i]);
      CAPTURE(kind);
      begin(call, each[i]);
      const auto done = open_and_run(scenario, mask, cache);
      const bool failed = fault_state().failed;
      end();
      CHECK_MESSAGE(fault_state().alive == 0, what_is_alive());
      // How often it looks whether work has ended depends on when it does.
      if (!failed) continue;
      ++seen.faults;
      if (done) {
        ++seen.overcome;
        continue;
      }
      ++seen.errors;
      const Error& error = done.error();
      CHECK(!error.fix.empty());
      if (function == "vkEnumerateDeviceExtensionProperties") {
        // A device that does not answer is refused like one that cannot do what is needed.
        CHECK_MESSAGE(error.code == ErrorCode::UnsupportedFeature, to_string(error));
        continue;
      }
      CHECK_MESSAGE(error.code == code_of(each[i], function), to_string(error));
      CHECK_MESSAGE(error.context.vk_result.has_value(), to_string(error));
      if (function != "vkEnumeratePhysicalDevices") {
        CHECK_MESSAGE(!error.context.device.empty(), to_string(error));
      }
    }
  }
}

void walk_all(const std::string& mask) {
  set_warning_handler([](std::string_view) {});
  const auto instance = vk::Instance::shared();
  REQUIRE(instance.has_value());
  (*instance)->edit_functions(intercept_instance);
  const auto folder = std::filesystem::temp_directory_path() /
                      fmt::format("felsite-faults-{}", static_cast<int>(getpid()));
  Walk seen;
  const char* const only = std::getenv("FELSITE_FAULTS_SCENARIO");
  for (const Scenario& scenario : scenarios()) {
    if (only == nullptr || scenario.name == only) walk(scenario, mask, folder, seen);
  }
  std::filesystem::remove_all(folder);
  set_warning_handler(nullptr);
  MESSAGE("mask `" << mask << "`: " << seen.faults << " faults in " << seen.functions.size()
                   << " functions, " << seen.errors << " errors, " << seen.overcome << " overcome");
  CHECK(seen.errors > seen.overcome);
}

}  // namespace

TEST_CASE("every call fails once, with all that the device has") { walk_all(""); }
TEST_CASE("every call fails once, with nothing optional") { walk_all("none"); }
TEST_CASE("every call fails once, with copies on a queue of their own") {
  walk_all("transfer_queue,-in_place_memory");
}
