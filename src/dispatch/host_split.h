// The host split: the segments of a plan as plain dispatches of any backend, their buffers handed
// on by the host.
#pragma once

#include <functional>

#include "base/stop_flag.h"
#include "felsite/backend.h"

namespace felsite::dispatch {

// What a backend gives to it, inside one of its own calls.
struct SegmentRunner {
  // One plain dispatch.
  std::function<Result<DispatchTiming>(const ir::Program& program, std::span<const ByteSpan> inputs,
                                       std::vector<Bytes>& outputs, const DispatchConfig& config)>
      run;
  std::uint64_t memory_limit = 0;   // of the host, for all that one split takes
  std::uint64_t binding_limit = 0;  // of each buffer
  // Another thread may raise it: the split then ends at its next segment.
  const base::StopFlag* stop = nullptr;
};

// The bytes, passes and errors of a dispatch that runs grid barriers natively. The caller's inputs
// stay where they are; only what segments change is the host's own.
Result<DispatchTiming> dispatch_host_split(const SegmentRunner& runner, const ir::Program& program,
                                           std::span<const ByteSpan> inputs,
                                           std::vector<Bytes>& outputs,
                                           const DispatchConfig& config);

// What the caller did wrong and what cannot fit, for one that starts the split and does not wait.
Result<void> check_host_split(const SegmentRunner& runner, const ir::Program& program,
                              std::span<const ByteSpan> inputs, const DispatchConfig& config);

}  // namespace felsite::dispatch
