// From handles to memory: a resident submission, checked, as the service takes it.
#pragma once

#include "dispatch/state/open_device.h"
#include "felsite/resident.h"

namespace felsite::dispatch {

// All errors of the caller are found here, before anything runs. The error of a step carries its
// position: those of the prefix come first, then the repeated steps, then those of the blocks. The
// uploads end with the bytes that callers lend to steps, in the order of these.
Result<Submission> resolve(OpenDevice& open, const ResidentSubmission& submission,
                           const SubmissionConfig& config);
// One program with grid barriers or iterations.
Result<Submission> resolve_iterations(OpenDevice& open, const ResidentStep& step,
                                      const DispatchConfig& config,
                                      const std::optional<Extent3>& grid);
// Adds a placed program whose iterations the host starts one by one, because it has to read the
// grid of each.
Result<void> add_iterations(OpenDevice& open, Submission& submission, PlacedStep step);
// After a run: what these iterations did, as those of one program are reported.
void note_iterations(DispatchTiming& timing, const DispatchConfig& config);
// What a step is refused for whatever its grid is.
Result<void> check_late(const PlacedStep& step);
// The grid that a program with grid barriers reads from a resource; absent for other programs, and
// where each iteration has its own. Its segments need to know it, so the host waits for what was
// submitted before.
Result<std::optional<Extent3>> read_grid(OpenDevice& open, const ResidentStep& step,
                                         const DispatchConfig& config);
Result<std::vector<MemoryRange>> resolve_uploads(OpenDevice& open,
                                                 std::span<const ResidentUpload> uploads);
Result<std::vector<MemoryRange>> resolve_reads(OpenDevice& open,
                                               std::span<const ResidentRange> ranges);

}  // namespace felsite::dispatch
