// The host split runs the segments of a plan as plain dispatches of any backend; the host hands the
// buffers from one to the next.
#pragma once

#include <functional>

#include "base/stop_flag.h"
#include "dispatch/forms/kept_sizes.h"
#include "dispatch/schedule/binding_plan.h"
#include "felsite/backend.h"
#include "felsite/validate.h"

namespace felsite::dispatch {

// What a backend provides for a split, inside one of its calls.
struct SegmentRunner {
  // One plain dispatch of a segment, which the backend validates when it first sees it.
  std::function<Result<DispatchTiming>(const ir::Program& program, std::span<const ByteSpan> inputs,
                                       std::vector<Bytes>& outputs, const DispatchConfig& config)>
      run;
  const DeviceProfile& device;
  std::uint64_t memory_limit = 0;  // bytes of host memory for the whole split
  // Another thread may set it, which ends the split at the next segment.
  const base::StopFlag* stop = nullptr;
};

// What the memory of a split depends on.
struct SplitParts {
  const GridSyncPlan& plan;
  const BindingPlan& bindings;
  bool compares = false;  // whether each iteration is compared with the one before
};
// The sizes of what is kept across barriers, or why it does not fit. Beside the results, a split
// holds what goes into a segment, what comes out of it, and the state that an iteration is compared
// with.
Result<KeptSizes> size_split(const SplitParts& parts, const Extent3& grid,
                             const KeptLimits& limits);

// Gives the bytes, iterations and errors of a dispatch with native grid barriers. The caller's
// inputs are not copied; the host owns only the buffers that segments change. `program` has the
// workgroup size and the float mode that `config` asks for.
Result<DispatchTiming> dispatch_host_split(const SegmentRunner& runner,
                                           const ir::ValidProgram& program,
                                           std::span<const ByteSpan> inputs,
                                           std::vector<Bytes>& outputs,
                                           const DispatchConfig& config);

// The checks of dispatch_host_split alone, for a caller that starts it on another thread.
Result<void> check_host_split(const SegmentRunner& runner, const ir::ValidProgram& program,
                              std::span<const ByteSpan> inputs, const DispatchConfig& config);

}  // namespace felsite::dispatch
