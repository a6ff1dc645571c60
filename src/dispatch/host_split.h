// The host split: the segments of a plan as plain dispatches of any backend, their buffers handed
// on by the host.
#pragma once

#include "felsite/backend.h"

namespace felsite::dispatch {

// The bytes, passes and errors of a dispatch that runs grid barriers natively. The caller's inputs
// stay where they are; only what segments change is the host's own.
Result<DispatchTiming> dispatch_host_split(Backend& backend, const ir::Program& program,
                                           std::span<const ByteSpan> inputs,
                                           std::vector<Bytes>& outputs,
                                           const DispatchConfig& config);

}  // namespace felsite::dispatch
