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

CallGate::Ticket::Ticket(Ticket&& other) noexcept {
  if (other.gate_ != nullptr) other.gate_->replace(other, *this);
}

CallGate::Ticket::~Ticket() {
  if (gate_ != nullptr) gate_->leave(*this);
}

Result<CallGate::Ticket> CallGate::enter() {
  Ticket ticket;
  if (!admit(ticket)) return std::unexpected(after_shutdown());
  return ticket;
}

bool CallGate::admit(Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  ticket.gate_ = this;
  ticket.number_ = next_++;
  ticket.before_ = last_;
  set_neighbours(ticket, &ticket, &ticket);
  ++inside_;
  return true;
}

// With the lock held: what those beside the ticket, or the ends of the line, have in its place.
void CallGate::set_neighbours(const Ticket& ticket, Ticket* as_after, Ticket* as_before) {
  (ticket.before_ != nullptr ? ticket.before_->after_ : first_) = as_after;
  (ticket.after_ != nullptr ? ticket.after_->before_ : last_) = as_before;
}

void CallGate::replace(Ticket& old, Ticket& fresh) {
  const std::lock_guard lock(mutex_);
  fresh.gate_ = this;
  fresh.number_ = old.number_;
  fresh.before_ = old.before_;
  fresh.after_ = old.after_;
  set_neighbours(fresh, &fresh, &fresh);
  old.gate_ = nullptr;
}

void CallGate::leave(Ticket& ticket) {
  // Notified under the lock: the gate may be gone as soon as the last waiter sees it empty.
  const std::lock_guard lock(mutex_);
  set_neighbours(ticket, ticket.after_, ticket.before_);
  --inside_;
  left_.notify_all();
}

void CallGate::wait_for_earlier() {
  std::unique_lock lock(mutex_);
  const std::uint64_t end = next_;
  left_.wait(lock, [&] { return first_ == nullptr || first_->number_ >= end; });
}

void CallGate::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [&] { return first_ == nullptr; });
}

bool CallGate::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t CallGate::inside() const {
  const std::lock_guard lock(mutex_);
  return inside_;
}

}  // namespace felsite::dispatch
