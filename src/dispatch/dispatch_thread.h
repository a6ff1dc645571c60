// A dispatch under way that has a thread of its own: what the reference runs asynchronously, and
// the host split on any backend.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "dispatch/call_gate.h"
#include "felsite/compiled.h"

namespace felsite::dispatch {

// Raised when nobody waits any more: the work may end at its next look.
using StopFlag = std::atomic<bool>;

struct ThreadWork {
  // Runs on the thread, on inputs of its own, into slots of its own.
  std::function<Result<DispatchTiming>(std::span<const ByteSpan> inputs, std::vector<Bytes>& slots,
                                       const StopFlag& stop)>
      run;
  // Puts the program and the device into an error.
  std::function<Error(Error)> noted;
};

// Copies the inputs, and starts. The ticket keeps the backend until the work has ended; the result
// needs the backend no more. Dropping it raises the flag and waits for nothing.
Result<std::unique_ptr<PendingDispatch>> start_dispatch_thread(std::span<const ByteSpan> inputs,
                                                               CallGate::Ticket ticket,
                                                               ThreadWork work);

}  // namespace felsite::dispatch
