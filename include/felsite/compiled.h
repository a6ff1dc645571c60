// Programs made ready to run often, and dispatches that are still under way.
#pragma once

#include <span>
#include <vector>

#include "felsite/error.h"
#include "felsite/resident.h"

namespace felsite {

// One program with one configuration. Gives the bits that Backend::dispatch gives. Usable from any
// number of threads. It may outlive its backend: once that is shut down or destroyed, also by
// another thread meanwhile, every dispatch is DispatchFailed.
class CompiledPipeline {
 public:
  virtual ~CompiledPipeline() = default;

  virtual const ir::Program& program() const = 0;
  virtual Result<DispatchTiming> dispatch_borrowed_into(std::span<const ByteSpan> inputs,
                                                        std::vector<Bytes>& outputs) = 0;
  // Independent dispatches, as many as there are sets of inputs, together.
  virtual Result<std::vector<std::vector<Bytes>>> dispatch_batch(
      std::span<const std::vector<ByteSpan>> inputs) = 0;
  // On buffers of the backend, as ResidentStep describes them.
  virtual Result<DispatchTiming> dispatch_resident(std::span<const ResidentHandle> resources) = 0;

  Result<std::vector<Bytes>> dispatch(const std::vector<Bytes>& inputs);
};

// A dispatch under way. It may be dropped at any time, which waits for nothing: its results are
// gone, nothing leaks, and the work ends by itself (what a device has begun goes on to its end). It
// may outlive its backend, and does not keep it from closing: once that is shut down or destroyed,
// also by another thread meanwhile, a wait gives the results that the host has by then, or
// DispatchFailed.
class PendingDispatch {
 public:
  virtual ~PendingDispatch() = default;
  virtual bool is_ready() const = 0;
  // Once; a second wait is DispatchFailed.
  virtual Result<DispatchTiming> wait_into(std::vector<Bytes>& outputs) = 0;
  Result<std::vector<Bytes>> wait();
};

}  // namespace felsite
