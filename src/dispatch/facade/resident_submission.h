// From handles to memory: a resident submission, checked, as the service takes it.
#pragma once

#include "dispatch/facade/open_device.h"
#include "felsite/resident.h"

namespace felsite::dispatch {

// All errors of the caller are found here, before anything runs. The error of a step carries its
// position; the repeated steps are numbered after the prefix.
Result<Submission> resolve(OpenDevice& open, const ResidentSubmission& submission,
                           const SubmissionConfig& config);
// One program with grid barriers or iterations.
Result<Submission> resolve_iterations(OpenDevice& open, const ResidentStep& step,
                                      const DispatchConfig& config);
Result<std::vector<MemoryRange>> resolve_uploads(OpenDevice& open,
                                                 std::span<const ResidentUpload> uploads);
Result<std::vector<MemoryRange>> resolve_reads(OpenDevice& open,
                                               std::span<const ResidentRange> ranges);

// Equal for submissions that can share a recording: it covers all but the bytes of the uploads.
ir::Fingerprint key_of(const ResidentSubmission& submission, std::string_view label, bool measured);
ir::Fingerprint key_of(const ResidentStep& step, const DispatchConfig& config, bool measured);

// The program with the workgroup size and float mode of the configuration, checked as far as that
// goes without inputs.
Result<ir::ValidProgram> prepare_program(OpenDevice& open, const ir::Program& program,
                                         const DispatchConfig& config);
// What is known of the memory of a step when its schedule is made.
struct MemoryFacts {
  std::vector<std::uint64_t> bytes{};  // by BufferId; 0 for workgroup memory
  std::vector<RangePlace> places{};    // as ScheduleRequest has them
  bool fresh_outputs = false;
  bool can_try = false;
  std::vector<ByteSpan> contents{};  // as RouteFacts has them
};
// Decides how the step runs; a device with grid barriers takes no schedule but the route.
Result<void> make_schedule(PlacedStep& step, const MemoryFacts& memory,
                           const DeviceProfile& device);
// The kernels that the step runs, ready for its device.
Result<void> compile_kernels(OpenDevice& open, PlacedStep& step);

}  // namespace felsite::dispatch
