// A lost device, and a recovery in which every call fails once: the backend is as lost as it was,
// nothing is left of the device that did not open, and the next try gets one.
#include <doctest/doctest.h>

#include "faults/fault_walk.h"

using namespace felsite;
using namespace felsite::test;

namespace {

// A backend that has worked, and then lost its device under a buffer that its caller still has.
struct LostBackend {
  explicit LostBackend(const std::string& mask) {
    auto opened = open_with_faults(mask, {});
    REQUIRE(opened.has_value());
    backend = std::move(*opened);
    const auto allocated = backend->allocate_resident(16);
    REQUIRE(allocated.has_value());
    buffer = *allocated;
    REQUIRE(run_small_dispatch(*backend).has_value());
    fault_state().stays_lost = true;
    check_lost();
    fault_state().stays_lost = false;
    check_lost();
  }

  void check_lost() {
    const auto refused = run_small_dispatch(*backend);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::DeviceLost);
    CHECK(backend->device_lost());
    CHECK(backend->metric_snapshot().recoveries == 0);
  }

  // What is left of the lost device is gone, and the new one works.
  AtRest check_recovered() {
    CHECK_FALSE(backend->device_lost());
    CHECK(backend->metric_snapshot().recoveries == 1);
    const auto size = backend->resident_size(buffer);
    CHECK((!size && size.error().code == ErrorCode::InvalidHandle));
    AtRest rest = at_rest(*backend);
    CHECK(rest.objects["Device"] == 1);
    CHECK(rest.figures.resident_buffers == 0);
    CHECK(run_small_dispatch(*backend).has_value());
    return rest;
  }

  std::unique_ptr<Backend> backend;
  ResidentHandle buffer;
};

struct Recovery {
  Result<void> first;
  AtRest rest;
};

Recovery lose_and_recover(const std::string& mask, int fail_at, FaultKind kind) {
  LostBackend lost(mask);
  const ObjectCounts before = fault_state().alive_by_kind;
  begin_faults(fail_at, kind);
  auto first = lost.backend->try_recover();
  end_faults();
  if (!first) {
    lost.check_lost();
    CHECK_MESSAGE(fault_state().alive_by_kind == before, what_is_alive());
    const auto second = lost.backend->try_recover();
    CHECK_MESSAGE(second.has_value(), to_string(second.error()));
  }
  AtRest rest = lost.check_recovered();
  return {std::move(first), std::move(rest)};
}

void walk_recovery(const std::string& mask) {
  CAPTURE(mask);
  const FaultyInstance instance;
  const Recovery clean = lose_and_recover(mask, -1, FaultKind::HostMemory);
  REQUIRE_MESSAGE(clean.first.has_value(), to_string(clean.first.error()));
  REQUIRE_MESSAGE(fault_state().alive == 0, what_is_alive());
  const std::vector<std::string> calls = fault_state().log;
  const std::vector<std::vector<FaultKind>> kinds = fault_state().kinds;
  Walk seen{.mask = "recovery, " + mask};
  seen.functions.insert(calls.begin(), calls.end());
  for (std::size_t call = 0; call < calls.size(); ++call) {
    for (std::size_t i = 0; i < kinds[call].size(); ++i) {
      if (is_sparing() && i != call % kinds[call].size()) continue;
      const FaultKind kind = kinds[call][i];
      CAPTURE(calls[call]);
      CAPTURE(static_cast<int>(kind));
      const Recovery recovery = lose_and_recover(mask, static_cast<int>(call), kind);
      CHECK_MESSAGE(fault_state().alive == 0, what_is_alive());
      check_at_rest(recovery.rest, clean.rest);
      if (!fault_state().failed) continue;
      ++seen.faults;
      ++(recovery.first ? seen.overcome : seen.errors);
      if (!recovery.first) {
        check_error(recovery.first.error(), kind, fault_state().failed_function);
      }
    }
  }
  report(seen);
  CHECK(seen.errors > seen.overcome);
}

}  // namespace

TEST_CASE("a recovery in which every call fails once, with all that the device has") {
  walk_recovery("");
}
TEST_CASE("a recovery in which every call fails once, with nothing optional") {
  walk_recovery("none");
}
TEST_CASE("a recovery in which every call fails once, with copies on a queue of their own") {
  walk_recovery("transfer_queue,-in_place_memory");
}
