// The host split: the segments of a plan as plain dispatches of any backend, their buffers handed
// on by the host.
#pragma once

#include <functional>

#include "base/stop_flag.h"
#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/kept_sizes.h"
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

// What a split runs, as far as its size depends on it.
struct SplitParts {
  const GridSyncPlan& plan;
  const BindingPlan& bindings;
  bool compares = false;  // whether each iteration is compared with the one before
};
// What is kept across barriers, or why it does not fit. Beside the results it is there once for a
// segment and once from it, and so is the state that an iteration is compared with.
Result<KeptSizes> size_split(const SplitParts& parts, const std::array<std::uint32_t, 3>& grid,
                             const KeptLimits& limits);

// The bytes, iterations and errors of a dispatch that runs grid barriers natively. The caller's
// inputs stay where they are; only what segments change is the host's own.
Result<DispatchTiming> dispatch_host_split(const SegmentRunner& runner, const ir::Program& program,
                                           std::span<const ByteSpan> inputs,
                                           std::vector<Bytes>& outputs,
                                           const DispatchConfig& config);

// What the caller did wrong and what cannot fit, for one that starts the split and does not wait.
Result<void> check_host_split(const SegmentRunner& runner, const ir::Program& program,
                              std::span<const ByteSpan> inputs, const DispatchConfig& config);

}  // namespace felsite::dispatch
