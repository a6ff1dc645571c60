// The conformance suite: every call of the backend contract, on the backend that the environment
// names. What a test expects follows from the contract or is computed here, never taken from a
// backend.
//
//   FELSITE_CONFORMANCE_BACKEND  reference (the default), or any that can be made by name: vulkan,
//                                host_memory (tests/support/host_memory_backend.h)
//   FELSITE_CONFORMANCE_MASK     for vulkan: VulkanOptions.mask
//   FELSITE_CONFORMANCE_SEEDS    how many random submissions are run
#pragma once

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "felsite/backend.h"
#include "felsite/telemetry.h"
#include "support/results.h"
#include "support/run_program.h"

namespace felsite::test {

struct Tested {
  std::string backend;
  std::string mask;
};
const Tested& tested_choice();
// Otherwise programs with grid barriers are cut.
bool has_grid_barriers();
bool has_device_clock();

// A separate backend, for tests that shut it down.
std::unique_ptr<Backend> make_tested();
// One for all others: opening a device takes a while.
Backend& tested();

// A resident buffer with contents, freed at the end of its test.
class OnDevice {
 public:
  explicit OnDevice(const Bytes& bytes, Backend& backend = tested());
  explicit OnDevice(const Words& words, Backend& backend = tested())
      : OnDevice(bytes_of(words), backend) {}
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

  ResidentHandle handle() const { return handle_; }
  Bytes bytes() const { return must(backend_.download_resident(handle_)); }
  Words words() const { return words_of(bytes()); }

 private:
  Backend& backend_;
  ResidentHandle handle_;
};

// What was counted while `work` ran; nothing that earlier tests started is still under way.
template <class Work>
Telemetry counted(Work work, Backend& backend = tested()) {
  must(backend.flush());
  const Telemetry before = telemetry_snapshot();
  work();
  return difference(telemetry_snapshot(), before);
}

// The error of a call that must refuse before it allocates anything.
template <class Call>
Error refused(Call call) {
  const std::uint64_t before = tested().metric_snapshot().allocations;
  Error error = error_of(call());
  CHECK(tested().metric_snapshot().allocations == before);
  CHECK(error.fix.ends_with("."));
  return error;
}

// y[i] = y[i] + x[i]
inline const char* const kAdd =
    "program add workgroup(8) { readonly x: u32[]; readwrite y: u32[];"
    " let i = invocation.x; if i < len(y) { y[i] = y[i] + x[i]; } }";
// y[i] = a[0] * x[i] + y[i]
inline const char* const kSaxpy =
    "program saxpy workgroup(8) { uniform a: u32[1]; readonly x: u32[]; readwrite y: u32[];"
    " let i = invocation.x; if i < len(y) { y[i] = a[0] * x[i] + y[i]; } }";
// y[i] = y[i] * 2 + 1: each run shows
inline const char* const kGrow =
    "program grow workgroup(8) { readwrite y: u32[];"
    " let i = invocation.x; if i < len(y) { y[i] = y[i] * 2 + 1; } }";
// Traps when y[0] has reached `limit[0]`.
inline const char* const kTrapAt =
    "program trap_at workgroup(1) { readonly limit: u32[]; readwrite y: u32[];"
    " if y[0] == limit[0] { trap(y[0], reached); } y[0] = y[0] + 1; }";

inline ResidentStep step(const char* text, ResidentResources resources) {
  return {.program = valid_program(text), .resources = std::move(resources)};
}

}  // namespace felsite::test
