#include "faults/fault_walk.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "dispatch/facade/backend_core.h"
#include "faults/fault_injection.h"
#include "felsite/warnings.h"

namespace felsite::test {
namespace {

using Clock = std::chrono::steady_clock;

ErrorCode code_of_fault(FaultKind kind, std::string_view function) {
  switch (kind) {
    case FaultKind::HostMemory:
      // So says the loader of a driver's file that it cannot read.
      return function == "vkCreateInstance" ? ErrorCode::UnsupportedFeature
                                            : ErrorCode::DeviceOutOfMemory;
    case FaultKind::DeviceMemory:
    case FaultKind::PoolMemory:
    case FaultKind::MapFailed:
      return ErrorCode::DeviceOutOfMemory;
    case FaultKind::Lost:
      return ErrorCode::DeviceLost;
    case FaultKind::Timeout:
      return ErrorCode::Timeout;
    case FaultKind::Incomplete:  // the list is asked for again, and is there then
      return ErrorCode::Unknown;
    case FaultKind::Broken:
      if (function == "vkCreateInstance") return ErrorCode::UnsupportedFeature;
      return function == "vkCreateComputePipelines" ? ErrorCode::KernelCompileFailed
                                                    : ErrorCode::DispatchFailed;
  }
  return ErrorCode::Unknown;
}

// A backend that was lost says so until it is recovered.
void recover(Backend& backend, const Result<void>& done) {
  FaultState& state = fault_state();
  if (!done && done.error().code == ErrorCode::DeviceLost) {
    CHECK(backend.device_lost());
    const auto refused = run_small_dispatch(backend);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::DeviceLost);
  } else {
    // The call only polled whether something has ended: the next one that needs the device
    // finds out, or the poll had no consequence.
    state.stays_lost = false;
    const auto next = run_small_dispatch(backend);
    if (!next) CHECK(next.error().code == ErrorCode::DeviceLost);
    CHECK(backend.device_lost() == !next.has_value());
  }
  state.stays_lost = false;
  const auto recovered = backend.try_recover();
  CHECK_MESSAGE(recovered.has_value(), to_string(recovered.error()));
}

struct Outcome {
  Result<void> done;
  std::optional<AtRest> rest;  // not of one that did not open, or is closed
};

// Opens, works, closes. Whatever happened, the backend works then.
Outcome open_and_run(const Scenario& scenario, Walk& seen, int fail_at, FaultKind kind) {
  FaultState& state = fault_state();
  const Clock::time_point start = Clock::now();
  state.most_workgroups = scenario.most_workgroups;
  begin_faults(fail_at, kind);
  state.counting = scenario.faults_in_opening;
  auto backend = open_with_faults(
      seen.mask, scenario.has_cache_file ? std::optional(seen.cache) : std::nullopt);
  if (!backend) return {std::unexpected(std::move(backend.error())), {}};
  Outcome outcome;
  state.counting = true;
  outcome.done = scenario.run(**backend);
  state.counting = false;
  const Result<void>& done = outcome.done;
  if (scenario.ends_with && !done && done.error().code == *scenario.ends_with) outcome.done = {};

  if (scenario.closes && done) {
    state.stays_lost = false;
    const auto refused = run_small_dispatch(**backend);
    CHECK((!refused && refused.error().code == ErrorCode::DispatchFailed));
    return outcome;
  }
  if (state.stays_lost) recover(**backend, done);
  outcome.rest = at_rest(**backend);
  const auto works = run_small_dispatch(**backend);
  CHECK_MESSAGE(works.has_value(), to_string(works.error()));
  backend->reset();
  seen.longest = std::max(seen.longest, Clock::now() - start);
  return outcome;
}

// One fault, and all that must hold after it.
void fail(const Scenario& scenario, Walk& seen, int call, FaultKind kind,
          const std::optional<AtRest>& without_fault) {
  const Outcome outcome = open_and_run(scenario, seen, call, kind);
  const bool failed = fault_state().failed;
  end_faults();
  CHECK_MESSAGE(fault_state().alive == 0, what_is_alive());
  if (outcome.rest && without_fault) check_at_rest(*outcome.rest, *without_fault);
  // How often it looks whether work has ended depends on when it does.
  if (!failed) return;
  ++seen.faults;
  ++(outcome.done ? seen.overcome : seen.errors);
  if (!outcome.done) check_error(outcome.done.error(), kind, fault_state().failed_function);
}

// What objects are called is for debuggers: all goes on as it would.
void fail_names(const Scenario& scenario, Walk& seen, const std::optional<AtRest>& without_fault) {
  fault_state().names_fail = true;
  const Outcome outcome = open_and_run(scenario, seen, -1, FaultKind::HostMemory);
  const bool failed = fault_state().failed;
  fault_state().names_fail = false;
  end_faults();
  CHECK_MESSAGE(outcome.done.has_value(), to_string(outcome.done.error()));
  CHECK_MESSAGE(fault_state().alive == 0, what_is_alive());
  if (outcome.rest && without_fault) check_at_rest(*outcome.rest, *without_fault);
  if (!failed) return;
  ++seen.faults;
  ++seen.overcome;
  seen.functions.emplace("vkSetDebugUtilsObjectNameEXT");
}

// Whether a call fails with this one of its results.
bool is_wanted(const Scenario& scenario, std::size_t call, std::size_t kind, std::size_t kinds) {
  if (!is_sparing()) return !scenario.takes_long || kind == call % kinds;
  if (scenario.takes_long && call % 4 != 0) return false;
  return kind == (scenario.takes_long ? call / 4 : call) % kinds;
}

}  // namespace

Result<std::unique_ptr<Backend>> open_with_faults(
    const std::string& mask, const std::optional<std::filesystem::path>& cache) {
  return vk::make_backend(
      {.open = [mask] { return vk::open_device({.mask = mask}, intercept_device); },
       .cache_folder = cache});
}

AtRest at_rest(Backend& backend) {
  const auto flushed = backend.flush();
  CHECK_MESSAGE(flushed.has_value(), to_string(flushed.error()));
  const auto open = dispatch::BackendCore::of(backend).device();
  REQUIRE(open.has_value());
  (*open)->recordings.clear();
  AtRest rest{.figures = backend.metric_snapshot(), .objects = fault_state().alive_by_kind};
  // How many blocks the allocator takes depends on what failed before; the figures report its
  // bytes. How many fences are needed depends on when work ends.
  rest.objects.erase("Memory");
  rest.objects.erase("Fence");
  return rest;
}

void check_at_rest(const AtRest& found, const AtRest& without_fault) {
  const MetricSnapshot& most = without_fault.figures;
  CHECK(found.figures.in_flight == 0);
  CHECK(found.figures.device_bytes <= most.device_bytes);
  CHECK(found.figures.resident_buffers <= most.resident_buffers);
  CHECK(found.figures.resident_bytes <= most.resident_bytes);
  CHECK(found.figures.static_bytes <= most.static_bytes);
  for (const auto& [kind, count] : found.objects) {
    const auto known = without_fault.objects.find(kind);
    const int expected = known == without_fault.objects.end() ? 0 : known->second;
    CHECK_MESSAGE(count <= expected, kind);
  }
}

void check_error(const Error& error, FaultKind kind, std::string_view function) {
  CHECK(!error.message.empty());
  CHECK(!error.fix.empty());
  CHECK_MESSAGE(kind != FaultKind::Incomplete, to_string(error));
  if (function == "vkEnumerateDeviceExtensionProperties") {
    // A device that does not answer is refused like one that cannot do what is needed.
    CHECK_MESSAGE(error.code == ErrorCode::UnsupportedFeature, to_string(error));
    return;
  }
  CHECK_MESSAGE(error.code == code_of_fault(kind, function), to_string(error));
  CHECK_MESSAGE(error.context.vk_result == static_cast<std::int32_t>(result_of(kind)),
                to_string(error));
  // Before there is a device, none is to blame.
  const bool before_device =
      function == "vkEnumeratePhysicalDevices" || function == "vkCreateInstance";
  CHECK_MESSAGE(error.context.device.empty() == before_device, to_string(error));
}

std::string what_is_alive() {
  std::string text;
  for (const auto& [kind, count] : fault_state().alive_by_kind) {
    if (count != 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, kind);
  }
  return text;
}

CacheFolder::CacheFolder()
    : path_(std::filesystem::temp_directory_path() /
            fmt::format("felsite-faults-{}", static_cast<int>(getpid()))) {}
CacheFolder::~CacheFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

FaultyInstance::FaultyInstance() {
  set_warning_handler([](std::string_view) {});
  auto instance = vk::Instance::shared();
  REQUIRE(instance.has_value());
  instance_ = std::move(*instance);
  instance_->edit_functions(intercept_instance);
}

FaultyInstance::~FaultyInstance() { set_warning_handler(nullptr); }

bool is_sparing() { return std::getenv("FELSITE_FAULTS_SPARING") != nullptr; }

void walk(const Scenario& scenario, Walk& seen) {
  CAPTURE(scenario.name);
  CAPTURE(seen.mask);
  const Outcome clean = open_and_run(scenario, seen, -1, FaultKind::HostMemory);
  end_faults();
  REQUIRE_MESSAGE(clean.done.has_value(), to_string(clean.done.error()));
  REQUIRE_MESSAGE(fault_state().alive == 0, what_is_alive());
  if (clean.rest) CHECK(clean.rest->figures.in_flight == 0);
  const std::vector<std::string> calls = fault_state().log;
  const std::vector<std::vector<FaultKind>> kinds = fault_state().kinds;
  seen.functions.insert(calls.begin(), calls.end());
  if (seen.names_objects) fail_names(scenario, seen, clean.rest);

  for (std::size_t call = 0; call < calls.size(); ++call) {
    const std::vector<FaultKind>& each = kinds[call];
    for (std::size_t i = 0; i < each.size(); ++i) {
      if (each[i] == FaultKind::Timeout && scenario.has_no_timeouts) continue;
      if (!is_wanted(scenario, call + seen.number, i, each.size())) {
        ++seen.left_out;
        continue;
      }
      const std::string_view function = calls[call];
      CAPTURE(call);
      CAPTURE(function);
      const int kind = static_cast<int>(each[i]);
      CAPTURE(kind);
      fail(scenario, seen, static_cast<int>(call), each[i], clean.rest);
    }
  }
}

void report(const Walk& seen) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  std::string text =
      fmt::format("mask `{}`: {} faults in {} functions, {} errors, {} overcome", seen.mask,
                  seen.faults, seen.functions.size(), seen.errors, seen.overcome);
  if (seen.left_out != 0) {
    text += fmt::format("; {} left out: {}", seen.left_out,
                        is_sparing() ? "each call with one result, or one call of four"
                                     : "in what takes long each call with one result");
  }
  if (seen.longest.count() != 0) {
    text += fmt::format("; the longest run took {:.0f} ms", Milliseconds(seen.longest).count());
  }
  MESSAGE(text);
}

}  // namespace felsite::test
