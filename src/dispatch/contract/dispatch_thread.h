// A dispatch under way that has a thread of its own: what the reference runs asynchronously, and
// the host split on any backend.
#pragma once

#include <functional>
#include <memory>

#include "base/stop_flag.h"
#include "dispatch/contract/call_gate.h"
#include "felsite/compiled.h"

namespace felsite::dispatch {

struct ThreadWork {
  // Runs on the thread, on inputs of its own, into slots of its own.
  std::function<Result<DispatchTiming>(std::span<const ByteSpan> inputs, std::vector<Bytes>& slots,
                                       const base::StopFlag& stop)>
      run;
  // Puts the program and the device into an error.
  std::function<Error(Error)> noted;
};

// Copies the inputs, and starts. The ticket keeps the backend until the work has ended; the result
// needs the backend no more. Dropping it, or closing the gate, raises the flag, and the work ends
// at its next look.
Result<std::unique_ptr<PendingDispatch>> start_dispatch_thread(std::span<const ByteSpan> inputs,
                                                               CallGate::Ticket ticket,
                                                               ThreadWork work);

}  // namespace felsite::dispatch
