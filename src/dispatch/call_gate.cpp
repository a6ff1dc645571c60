#include "dispatch/call_gate.h"

namespace felsite::dispatch {

Error after_shutdown() {
  return {.code = ErrorCode::DispatchFailed,
          .message = "The backend has been shut down.",
          .fix = "make a new backend.",
          .context = {}};
}

Error results_taken_already() {
  return {.code = ErrorCode::DispatchFailed,
          .message = "The results of this dispatch have been taken already.",
          .fix = "wait for a dispatch once, and keep its results.",
          .context = {}};
}

Result<CallGate::Ticket> CallGate::enter() {
  const std::lock_guard lock(mutex_);
  if (closed_) return std::unexpected(after_shutdown());
  const std::uint64_t number = next_++;
  inside_.insert(number);
  return Ticket(*this, number);
}

void CallGate::leave(std::uint64_t number) {
  // Notified under the lock: the gate may be gone as soon as the last waiter sees it empty.
  const std::lock_guard lock(mutex_);
  inside_.erase(number);
  left_.notify_all();
}

void CallGate::wait_for_earlier() {
  std::unique_lock lock(mutex_);
  const std::uint64_t end = next_;
  left_.wait(lock, [&] { return inside_.empty() || *inside_.begin() >= end; });
}

void CallGate::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [&] { return inside_.empty(); });
}

bool CallGate::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t CallGate::inside() const {
  const std::lock_guard lock(mutex_);
  return inside_.size();
}

}  // namespace felsite::dispatch
