// Calls that fail while other threads are at work on the same backend: each thread gets its result
// or a typed error, and the backend works when all are back.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <thread>

#include "faults/fault_walk.h"

using namespace felsite;
using namespace felsite::test;

namespace {

constexpr std::array<std::string_view, 3> kTogether{"dispatch", "resident memory", "submissions"};

using Results = std::array<Result<void>, kTogether.size()>;

Results run_together(Backend& backend) {
  Results results;
  const std::vector<Scenario> all = scenarios();
  std::array<const Scenario*, kTogether.size()> chosen{};
  for (std::size_t i = 0; i < kTogether.size(); ++i) {
    const auto found = std::ranges::find(all, kTogether[i], &Scenario::name);
    REQUIRE(found != all.end());
    chosen[i] = &*found;
  }
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kTogether.size(); ++i) {
    threads.emplace_back([&, i] { results[i] = chosen[i]->run(backend); });
  }
  threads.clear();
  return results;
}

// How many of the threads got an error.
int fail_together(const std::string& mask, int fail_at, FaultKind kind) {
  auto backend = open_with_faults(mask, {});
  REQUIRE(backend.has_value());
  begin_faults(fail_at, kind);
  const Results results = run_together(**backend);
  end_faults();
  int errors = 0;
  for (const Result<void>& result : results) {
    if (result) continue;
    ++errors;
    const Error& error = result.error();
    CHECK_FALSE(error.fix.empty());
    // A wait that timed out leaves its buffers in use, and other calls then report that.
    const bool is_typed = error.code == ErrorCode::DeviceOutOfMemory ||
                          error.code == ErrorCode::KernelCompileFailed ||
                          error.code == ErrorCode::Timeout;
    CHECK_MESSAGE(is_typed, to_string(error));
  }
  const AtRest rest = at_rest(**backend);
  CHECK(rest.figures.in_flight == 0);
  CHECK(rest.figures.resident_buffers == 0);
  const auto works = run_small_dispatch(**backend);
  CHECK_MESSAGE(works.has_value(), to_string(works.error()));
  backend->reset();
  CHECK_MESSAGE(fault_state().alive == 0, what_is_alive());
  return errors;
}

// Not lost devices: to lose this one, which is well, its queues would have to be waited for while
// other threads use them.
void walk_together(const std::string& mask) {
  const FaultyInstance instance;
  CHECK(fail_together(mask, -1, FaultKind::HostMemory) == 0);
  const std::vector<std::string> calls = fault_state().log;
  const std::size_t stride = is_sparing() ? 16 : 4;
  int faults = 0;
  int errors = 0;
  for (std::size_t call = 0; call < calls.size(); call += stride) {
    std::vector<FaultKind> kinds = kinds_of(calls[call]);
    std::erase(kinds, FaultKind::Lost);
    const FaultKind kind = kinds[call / stride % kinds.size()];
    CAPTURE(call);
    CAPTURE(static_cast<int>(kind));
    errors += fail_together(mask, static_cast<int>(call), kind);
    if (fault_state().failed) ++faults;
  }
  MESSAGE(fmt::format("mask `{}`: {} faults with {} threads at work, {} errors", mask, faults,
                      kTogether.size(), errors));
  CHECK(faults > 0);
  CHECK(errors > 0);
}

}  // namespace

TEST_CASE("calls fail while other threads are at work, with all that the device has") {
  walk_together("");
}
TEST_CASE("calls fail while other threads are at work, with nothing optional") {
  walk_together("none");
}
