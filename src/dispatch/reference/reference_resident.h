// A resident submission on the interpreter: checked as a whole, then run step by step.
#pragma once

#include "dispatch/contract/resident_checks.h"
#include "dispatch/reference/reference_memory.h"
#include "dispatch/reference/reference_programs.h"

namespace felsite::dispatch {

struct HostFill {
  std::shared_ptr<HostBuffer> buffer;
  ByteRange range;
  std::byte value{};
};

struct HostUpload {
  std::shared_ptr<HostBuffer> buffer;
  std::uint64_t offset = 0;
  ByteSpan bytes;
};

struct HostRead {
  std::shared_ptr<HostBuffer> buffer;
  ByteRange range;
};

struct HostStep {
  std::shared_ptr<const reference::Interpreter> interpreter;
  std::vector<std::shared_ptr<HostBuffer>> buffers;  // by BufferId; none for workgroup memory
  std::vector<std::uint64_t> offsets;                // of the bound ranges, by BufferId
  BindingPlan plan;
  DispatchConfig config;
};

// Holds the buffers, so that one freed meanwhile lives until the work is done.
struct HostSubmission {
  std::vector<HostFill> fills;
  std::vector<HostUpload> uploads;
  std::vector<HostStep> prefix;
  std::vector<HostStep> repeated;
  std::uint32_t count = 1;
  std::vector<HostRead> reads;
};

// Checks everything that can be wrong before it runs. The error of a step carries its position;
// repeated steps count after the prefix.
Result<HostSubmission> prepare_submission(const ResidentSubmission& submission,
                                          const HostMemory& memory, PreparedPrograms& programs);
Result<std::vector<HostUpload>> prepare_uploads(std::span<const ResidentUpload> uploads,
                                                const HostMemory& memory);
Result<std::vector<HostRead>> prepare_reads(std::span<const ResidentRange> ranges,
                                            const HostMemory& memory);

void run_uploads(std::span<const HostUpload> uploads);
void run_reads(std::span<const HostRead> reads, std::vector<Bytes>& outputs);
// The caller ensures that one submission runs at a time. Adds to `out_of_bounds`, even if it fails.
Result<DispatchTiming> run_submission(const HostSubmission& submission, std::vector<Bytes>& outputs,
                                      const SubmissionConfig& config,
                                      const ReferenceOptions& options,
                                      reference::OutOfBounds& out_of_bounds);

}  // namespace felsite::dispatch
