// A queue of the device: a submission gives a ticket, by which its end can be awaited. Thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "dispatch/contract/service.h"
#include "vk/device/device.h"

namespace felsite::vk {

// Counts submissions from 1 on; they end in that order.
using Ticket = std::uint64_t;
using dispatch::kNoTimeout;

class WorkQueue {
 public:
  // Completion is signalled by one timeline semaphore where the plan has them, else by fences.
  // `name` must outlive the queue.
  static Result<std::unique_ptr<WorkQueue>> make(Device& device, VkQueue queue,
                                                 std::string_view name);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // One submission, which begins after ticket `after` of `other` has ended; only with timeline
  // semaphores.
  Result<Ticket> submit(std::span<const VkCommandBuffer> commands, const WorkQueue* other = nullptr,
                        Ticket after = 0);
  bool is_done(Ticket ticket);
  // Timeout if the work has not ended by then; it continues.
  Result<void> wait(Ticket ticket, std::chrono::nanoseconds timeout);
  // The error of such a wait.
  Error timed_out() const;
  // Keeps alive what a submission uses when its owner stops waiting for it. The place is made
  // before the submission, because keeping must not allocate once something runs.
  struct Kept {
    Ticket ticket = 0;
    std::shared_ptr<void> resources;
  };
  using Place = std::list<Kept>;
  static Place make_place() { return Place(1); }
  void keep(Ticket ticket, std::shared_ptr<void> resources, Place place) noexcept;

  // Whether a submission, a wait or a poll reported the device as lost. Nothing is submitted after
  // that.
  bool is_lost() const { return lost_; }
  Ticket last_ticket();
  std::uint64_t in_flight();
  // Waits for everything; false if something has not ended after `grace`.
  bool drain(std::chrono::nanoseconds grace);

 private:
  struct Fence {
    Ticket ticket = 0;
    std::shared_ptr<Owned<VkFence>> fence;
  };

  WorkQueue(Device& device, VkQueue queue, std::string_view name)
      : device_(device), queue_(queue), name_(name) {}
  Result<void> make_timeline();
  Result<std::list<Fence>> free_fence();
  Place poll();
  VkResult wait_timeline(Ticket ticket, std::uint64_t timeout_ns) const;

  Device& device_;
  const VkQueue queue_;
  const std::string_view name_;  // of the objects it makes
  Owned<VkSemaphore> timeline_;

  // On a lost device nothing runs: all submissions count as ended, and as failed.
  std::atomic<bool> lost_ = false;

  std::mutex mutex_;  // guards everything below
  Ticket last_ = 0;
  Ticket done_ = 0;
  // Lists, because rows move between them without an allocation.
  std::list<Fence> fences_;  // of submissions in flight
  std::list<Fence> free_fences_;
  Place kept_;
};

}  // namespace felsite::vk
