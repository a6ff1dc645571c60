#include "dispatch/schedule/outcome.h"

#include <algorithm>

#include "base/try.h"
#include "dispatch/telemetry/counters.h"

namespace felsite::dispatch {

Result<IterationsRun> read_outcome(const IterationOutcome& outcome, const ReadWords& read) {
  IterationsRun run{.iterations = outcome.always, .converged = outcome.always_converges};
  for (const BufferRef& ref : outcome.ran) {
    FELSITE_TRY(const auto ran, read(ref));
    if (ran.front() != 0) ++run.iterations;
  }
  if (outcome.counted) {
    FELSITE_TRY(const auto counted, read(*outcome.counted));
    run.iterations += counted.front();
  }
  if (outcome.left) {
    FELSITE_TRY(const auto left, read(*outcome.left));
    run.converged = std::ranges::all_of(left, [](std::uint32_t w) { return w == 0; });
  }
  if (outcome.converged) {
    FELSITE_TRY(const auto converged, read(*outcome.converged));
    run.converged = converged.front() != 0;
  }
  run.launches = std::uint64_t{outcome.launches_in_iteration} * run.iterations;
  if (outcome.launches) {
    FELSITE_TRY(const auto counted, read(*outcome.launches));
    run.launches += counted.front();
  }
  return run;
}

void count_iterations(const IterationOutcome& outcome, const IterationsRun& run) {
  count(Counter::Launches, run.launches);
  count(Counter::IterationsRun, run.iterations);
  if (run.converged) count(Counter::IterationsSkipped, outcome.bound - run.iterations);
  if (outcome.segments <= 1) return;
  count(Counter::GridSyncSplits);
  count(Counter::GridSyncSegments, outcome.segments);
  const std::uint64_t points = run.launches > run.iterations ? run.launches - run.iterations : 0;
  count(Counter::GridSyncPoints, points);
}

}  // namespace felsite::dispatch
