// An asynchronous dispatch on its own thread: the reference uses it, and the host split on any
// backend.
#pragma once

#include <functional>
#include <memory>

#include "base/stop_flag.h"
#include "dispatch/state/call_gate.h"
#include "felsite/compiled.h"

namespace felsite::dispatch {

struct ThreadWork {
  // Runs on the thread, with copies of the inputs and its own output slots.
  std::function<Result<DispatchTiming>(std::span<const ByteSpan> inputs, std::vector<Bytes>& slots,
                                       const base::StopFlag& stop)>
      run;
  // Adds the program and the device to an error.
  std::function<Error(Error)> with_context;
};

// Copies the inputs and starts the thread. The ticket keeps the backend alive until the work has
// ended; the pending dispatch does not need the backend. Dropping it, or closing the gate, sets the
// stop flag, which the work polls.
Result<std::unique_ptr<PendingDispatch>> start_dispatch_thread(std::span<const ByteSpan> inputs,
                                                               CallGate::Ticket ticket,
                                                               ThreadWork work);

}  // namespace felsite::dispatch
