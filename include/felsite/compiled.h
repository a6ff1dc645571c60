// Programs that are prepared to run often, and dispatches that are still running.
#pragma once

#include <span>
#include <vector>

#include "felsite/error.h"
#include "felsite/resident.h"

namespace felsite {

// One program with one configuration. It gives the bits that Backend::dispatch gives, and is
// thread-safe. It may outlive its backend: once the backend is shut down or destroyed, even by
// another thread during a call, every dispatch is DispatchFailed.
class CompiledPipeline {
 public:
  virtual ~CompiledPipeline() = default;

  virtual const ir::Program& program() const = 0;
  virtual Result<DispatchTiming> dispatch_borrowed_into(std::span<const ByteSpan> inputs,
                                                        std::vector<Bytes>& outputs) = 0;
  // Runs several independent dispatches together, one for each set of inputs.
  virtual Result<std::vector<std::vector<Bytes>>> dispatch_batch(
      std::span<const std::vector<ByteSpan>> inputs) = 0;
  // Runs on resident buffers of the backend, or ranges of them, as ResidentStep describes.
  virtual Result<DispatchTiming> dispatch_resident(std::span<const ResidentResource> resources) = 0;
  Result<DispatchTiming> dispatch_resident(std::span<const ResidentHandle> resources);

  Result<std::vector<Bytes>> dispatch(const std::vector<Bytes>& inputs);
};

// A running dispatch. It may be dropped at any time without waiting: its results are discarded,
// nothing leaks, and the work ends by itself (the device completes what it has begun). It may
// outlive its backend and does not keep it from closing: once the backend is shut down or
// destroyed, even by another thread during a wait, the wait gives the results that have reached the
// host by then, or DispatchFailed.
class PendingDispatch {
 public:
  virtual ~PendingDispatch() = default;
  virtual bool is_ready() const = 0;
  // May be called once; a second wait is DispatchFailed.
  virtual Result<DispatchTiming> wait_into(std::vector<Bytes>& outputs) = 0;
  Result<std::vector<Bytes>> wait();
};

}  // namespace felsite
