// Counts the calls that a backend is working on, so that a flush can wait for them and a shutdown
// can let no more in.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
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
        : gate_(std::exchange(other.gate_, nullptr)), number_(other.number_) {}
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket() {
      if (gate_ != nullptr) gate_->leave(number_);
    }

   private:
    friend class CallGate;
    Ticket(CallGate& gate, std::uint64_t number) : gate_(&gate), number_(number) {}
    CallGate* gate_;
    std::uint64_t number_;
  };

  // DispatchFailed once the gate is closed.
  Result<Ticket> enter();
  // Waits for the calls that have entered by now; later ones may come and go.
  void wait_for_earlier();
  // Lets nobody in any more, and waits until all are out.
  void close();
  bool closed() const;
  std::size_t inside() const;

 private:
  void leave(std::uint64_t number);

  mutable std::mutex mutex_;
  std::condition_variable left_;
  std::set<std::uint64_t> inside_;
  std::uint64_t next_ = 0;
  bool closed_ = false;
};

}  // namespace felsite::dispatch
