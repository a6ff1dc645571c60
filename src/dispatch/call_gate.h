// Counts the calls that a backend is working on, so that a flush can wait for them and a shutdown
// can let no more in. Entering and leaving need no memory: the tickets themselves form the line.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

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
    Ticket(Ticket&& other) noexcept;
    Ticket& operator=(Ticket&&) = delete;
    ~Ticket();

   private:
    friend class CallGate;
    Ticket() = default;
    CallGate* gate_ = nullptr;  // null: of no call
    std::uint64_t number_ = 0;
    Ticket* before_ = nullptr;  // the calls that entered before and after it
    Ticket* after_ = nullptr;
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
  bool admit(Ticket& ticket);
  void replace(Ticket& old, Ticket& fresh);
  void leave(Ticket& ticket);
  void set_neighbours(const Ticket& ticket, Ticket* as_after, Ticket* as_before);

  mutable std::mutex mutex_;
  std::condition_variable left_;
  Ticket* first_ = nullptr;  // the one that has been inside for longest
  Ticket* last_ = nullptr;
  std::size_t inside_ = 0;
  std::uint64_t next_ = 0;
  bool closed_ = false;
};

}  // namespace felsite::dispatch
