#include "allocations/allocation_walk.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <exception>

#include "base/guarded.h"
#include "dispatch/facade/backend_core.h"
#include "felsite/reference.h"

namespace felsite::test {
namespace {

using Clock = std::chrono::steady_clock;

Result<std::unique_ptr<Backend>> open_reference(const Scenario&) {
  auto made = make_reference_backend({.threads = 2});
  if (made == nullptr) return std::unexpected(base::host_out_of_memory());
  return made;
}

AtRest rest_of_reference(Backend& backend) {
  const auto flushed = backend.flush();
  CHECK_MESSAGE(flushed.has_value(), to_string(flushed.error()));
  if (const auto open = dispatch::BackendCore::of(backend).current()) open->recordings.clear();
  return {.figures = backend.metric_snapshot(), .objects = {}};
}

const std::filesystem::path& cache_path() {
  static const CacheFolder folder;
  return folder.path();
}

Result<std::unique_ptr<Backend>> open_vulkan(const Scenario& scenario) {
  return open_with_faults("", scenario.has_cache_file ? std::optional(cache_path()) : std::nullopt);
}

AtRest rest_of_vulkan(Backend& backend) { return at_rest(backend); }

struct ShortRun {
  Result<void> done;
  std::optional<AtRest> rest;  // not of one that did not open, or is closed
};

// What leaves as an exception is the failure of the test.
template <class Work>
Result<void> catching(Work work) {
  try {
    return work();
  } catch (const std::exception& error) {
    host_memory::pause();
    FAIL_CHECK(fmt::format("An exception left the library: {}.", error.what()));
    return {};
  }
}

// Opens, works, closes, all of it while memory may run out. Whatever happened, the backend works
// in between.
ShortRun run_short(const Scenario& scenario, const Subject& subject,
                   const host_memory::Faults& faults) {
  fault_state().most_workgroups = scenario.most_workgroups;
  std::unique_ptr<Backend> backend;
  ShortRun outcome;
  host_memory::begin(faults);
  if (!scenario.faults_in_opening) host_memory::pause();
  outcome.done = catching([&]() -> Result<void> {
    auto opened = subject.open(scenario);
    if (!opened) return std::unexpected(std::move(opened.error()));
    backend = std::move(*opened);
    return {};
  });
  if (backend != nullptr) {
    host_memory::go_on();
    outcome.done = catching([&] { return scenario.run(*backend); });
    host_memory::pause();
    const Result<void>& done = outcome.done;
    if (scenario.ends_with && !done && done.error().code == *scenario.ends_with) outcome.done = {};
    const auto works = run_small_dispatch(*backend);
    if (scenario.closes && outcome.done) {
      CHECK((!works && works.error().code == ErrorCode::DispatchFailed));
    } else {
      CHECK_MESSAGE(works.has_value(), to_string(works.error()));
      outcome.rest = subject.rest(*backend);
    }
    host_memory::go_on();
    backend.reset();
  }
  host_memory::pause();
  return outcome;
}

// One fault, and all that must hold after it.
void fail_allocation(const Scenario& scenario, AllocationWalk& seen,
                     const host_memory::Faults& faults,
                     const std::optional<AtRest>& without_fault) {
  const ShortRun outcome = run_short(scenario, seen.subject, faults);
  const bool failed = host_memory::has_failed();
  CHECK_MESSAGE(fault_state().alive == 0, what_is_alive());
  if (outcome.rest && without_fault) check_at_rest(*outcome.rest, *without_fault);
  // What threads do at the same time, and how often a wait looks, is not the same each time.
  if (!failed) return;
  ++seen.faults;
  ++(outcome.done ? seen.overcome : seen.errors);
  if (outcome.done) return;
  const Error& error = outcome.done.error();
  CHECK_MESSAGE(error.code == ErrorCode::DeviceOutOfMemory, to_string(error));
  CHECK(!error.message.empty());
  CHECK(!error.fix.empty());
}

// Which allocations fail.
std::vector<bool> choose(const std::vector<host_memory::Place>& places, AllocationWalk& seen) {
  std::vector<bool> chosen(places.size());
  std::unordered_set<host_memory::Place> own;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_new = seen.places.insert(places[i]).second;
    const bool is_new_here = own.insert(places[i]).second;
    chosen[i] = seen.extent == Extent::All || is_new ||
                (seen.extent == Extent::PlacesOfEachScenario && is_new_here);
  }
  return chosen;
}

}  // namespace

Subject reference_subject() {
  return {
      .name = "reference", .has_device = false, .open = open_reference, .rest = rest_of_reference};
}

Subject vulkan_subject() {
  return {.name = "vulkan", .has_device = true, .open = open_vulkan, .rest = rest_of_vulkan};
}

Extent extent_on_device() {
  const char* const wanted = std::getenv("FELSITE_ALLOCATIONS");
  if (wanted != nullptr && std::string_view(wanted) == "all") return Extent::All;
  return is_sparing() ? Extent::Places : Extent::PlacesOfEachScenario;
}

void walk_allocations(const Scenario& scenario, AllocationWalk& seen) {
  CAPTURE(scenario.name);
  CAPTURE(seen.subject.name);
  // What is made once for the whole process is there after the first run.
  static_cast<void>(run_short(scenario, seen.subject, {}));
  const ShortRun clean = run_short(scenario, seen.subject, {.notes_places = true});
  const long count = host_memory::end();
  REQUIRE_MESSAGE(clean.done.has_value(), to_string(clean.done.error()));
  REQUIRE_MESSAGE(fault_state().alive == 0, what_is_alive());
  const std::vector<host_memory::Place> places = host_memory::places();
  const std::vector<bool> chosen = choose(places, seen);
  const Clock::time_point start = Clock::now();
  long walked = 0;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (!chosen[i]) continue;
    ++walked;
    for (const bool stays : {false, true}) {
      // Where not all allocations fail, each fails in one of the two ways.
      if (seen.extent != Extent::All && stays != (walked % 2 == 0)) continue;
      CAPTURE(i);
      CAPTURE(stays);
      fail_allocation(scenario, seen, {.fail_at = static_cast<long>(i), .stays = stays},
                      clean.rest);
    }
  }
  seen.allocations += count;
  seen.walked += walked;
  MESSAGE(fmt::format("{}, {}: {} of {} allocations failed, {} places in the code, {:.2f} s",
                      seen.subject.name, scenario.name, walked, count,
                      std::unordered_set(places.begin(), places.end()).size(),
                      std::chrono::duration<double>(Clock::now() - start).count()));
}

void report(const AllocationWalk& seen) {
  std::string text = fmt::format(
      "{}: {} of {} allocations failed, at {} places; {} faults, {} errors, {} overcome",
      seen.subject.name, seen.walked, seen.allocations, seen.places.size(), seen.faults,
      seen.errors, seen.overcome);
  if (seen.extent == Extent::PlacesOfEachScenario) {
    text += "; left out: allocations at places that failed before in the same scenario";
  } else if (seen.extent == Extent::Places) {
    text += "; left out: allocations at places that failed before";
  }
  MESSAGE(text);
}

}  // namespace felsite::test
