// Counts the calls that a backend is working on, so that a flush can wait for them and a shutdown
// can let no more in. Entering and leaving need no memory. What a backend made holds the gate too:
// see backend_link.h.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <utility>

#include "felsite/error.h"

namespace felsite::dispatch {

// For every call after a shutdown.
Error after_shutdown();
// For the second wait for one dispatch.
Error results_taken_already();

class CallGate {
 public:
  // One call, until it is destroyed. It may move to the thread that does the work.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept
        : gate_(std::exchange(other.gate_, nullptr)), phase_(other.phase_) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (gate_ != nullptr) gate_->leave(phase_);
    }

    // Raised once the gate lets nobody in any more and waits for those inside.
    const std::atomic<bool>& closing() const { return gate_->closing(); }

   private:
    friend class CallGate;
    Ticket(CallGate& gate, std::size_t phase) : gate_(&gate), phase_(phase) {}
    CallGate* gate_;
    std::size_t phase_;
  };

  // DispatchFailed once the gate is closed.
  Result<Ticket> enter();
  // Waits for the calls that have entered by now; later ones may come and go.
  void wait_for_earlier();
  // Lets nobody in any more, and waits until all are out.
  void close();
  bool closed() const { return closed_; }
  const std::atomic<bool>& closing() const { return closed_; }
  std::size_t inside() const;

 private:
  void leave(std::size_t phase);

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::mutex turn_;  // of those that wait for earlier calls: one after the other
  // Calls are counted in one of two phases. To wait for earlier ones is to begin the other phase,
  // which is empty, and to wait until this one is.
  std::array<std::size_t, 2> inside_{};
  std::size_t phase_ = 0;
  std::atomic<bool> closed_ = false;
};

}  // namespace felsite::dispatch
