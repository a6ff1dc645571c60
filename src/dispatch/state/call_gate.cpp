#include "dispatch/state/call_gate.h"

#include "base/errors.h"

namespace felsite::dispatch {

Error after_shutdown() {
  return base::dispatch_failed("The backend has been shut down.", "make a new backend.");
}

Error results_taken_already() {
  return base::dispatch_failed("The results of this dispatch have been taken already.",
                               "wait for a dispatch once, and keep its results.");
}

Result<CallGate::Ticket> CallGate::enter() {
  const std::lock_guard lock(mutex_);
  if (closed_) return std::unexpected(after_shutdown());
  ++inside_[phase_];
  return Ticket(*this, phase_);
}

void CallGate::leave(std::size_t phase) {
  // Notified under the lock: the gate may be gone as soon as the last waiter sees it empty.
  const std::lock_guard lock(mutex_);
  if (--inside_[phase] == 0) left_.notify_all();
}

void CallGate::wait_for_earlier() {
  const std::lock_guard turn(turn_);
  std::unique_lock lock(mutex_);
  const std::size_t earlier = std::exchange(phase_, 1 - phase_);
  left_.wait(lock, [&] { return inside_[earlier] == 0; });
}

void CallGate::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [&] { return inside_[0] + inside_[1] == 0; });
}

std::size_t CallGate::inside() const {
  const std::lock_guard lock(mutex_);
  return inside_[0] + inside_[1];
}

}  // namespace felsite::dispatch
