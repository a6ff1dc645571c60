// Counts the calls in progress, so that a flush can wait for them and a shutdown can refuse new
// ones. Entering and leaving allocate nothing. Objects that a backend made share its gate: see
// backend_link.h.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "felsite/error.h"

namespace felsite::dispatch {

// The error of every call after a shutdown.
Error after_shutdown();
// The error of a second wait for the same dispatch.
Error results_taken_already();

class CallGate {
 public:
  // One call in progress, which ends when the ticket is destroyed. It may move to another thread.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), phase_(other.phase_) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (gate_ != nullptr) gate_->leave(phase_);
    }

    // Set once the gate refuses new calls and waits for those in progress.
    const std::atomic<bool>& closing() const { return gate_->closing(); }

   private:
    friend class CallGate;
    Ticket(CallGate& gate, std::size_t phase) : gate_(&gate), phase_(phase) {}
    CallGate* gate_;
    std::size_t phase_;
  };

  // DispatchFailed once the gate is closed.
  Result<Ticket> enter();
  // Waits for the calls that have entered so far; later calls do not delay it.
  void wait_for_earlier();
  // Refuses new calls, and waits for those in progress.
  void close();
  bool closed() const { return closed_; }
  const std::atomic<bool>& closing() const { return closed_; }
  std::size_t inside() const;

 private:
  void leave(std::size_t phase);

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::mutex turn_;  // serializes wait_for_earlier
  // Calls are counted in one of two phases. wait_for_earlier switches to the other phase, which is
  // empty, and waits until the old one is.
  std::array<std::size_t, 2> inside_{};
  std::size_t phase_ = 0;
  std::atomic<bool> closed_ = false;
};

}  // namespace felsite::dispatch
