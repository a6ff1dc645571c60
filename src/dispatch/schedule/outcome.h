// What a run of several iterations did, read from the words that its schedule names.
#pragma once

#include <functional>

#include "dispatch/schedule/schedule.h"

namespace felsite::dispatch {

struct IterationsRun {
  std::uint32_t iterations = 0;
  bool converged = false;  // the last one changed nothing
  std::uint64_t launches = 0;
};
using ReadWords = std::function<Result<std::vector<std::uint32_t>>(const BufferRef& words)>;
Result<IterationsRun> read_outcome(const IterationOutcome& outcome, const ReadWords& read);

// Adds them to the telemetry.
void count_iterations(const IterationOutcome& outcome, const IterationsRun& run);

}  // namespace felsite::dispatch
