// A queue of the device: work goes in, and tickets tell when it is done. Usable from many threads.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "vk/device/device.h"

namespace felsite::vk {

// Counts submissions from 1 on; they end in that order.
using Ticket = std::uint64_t;
inline constexpr std::chrono::nanoseconds kNoTimeout = std::chrono::nanoseconds::max();

class WorkQueue {
 public:
  // Completion is told by one timeline semaphore where the plan has them, else by fences.
  // `name` outlives it.
  static Result<std::unique_ptr<WorkQueue>> make(Device& device, VkQueue queue,
                                                 std::string_view name);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // One submission. `after` on `other` has ended before it begins; only with timeline semaphores.
  Result<Ticket> submit(std::span<const VkCommandBuffer> commands, const WorkQueue* other = nullptr,
                        Ticket after = 0);
  bool is_done(Ticket ticket);
  // Timeout if the work has not ended by then; it goes on.
  Result<void> wait(Ticket ticket, std::chrono::nanoseconds timeout);
  // What `wait` says then.
  Error timed_out() const;
  // Holds what a submission uses when its owner will not wait for it any longer. The place is made
  // before the submission: once something runs, keeping it must not need memory.
  struct Kept {
    Ticket ticket = 0;
    std::shared_ptr<void> resources;
  };
  using Place = std::list<Kept>;
  static Place make_place() { return Place(1); }
  void keep(Ticket ticket, std::shared_ptr<void> resources, Place place) noexcept;

  // Whether a submission, a wait or a look has been told so. Then nothing is submitted any more.
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
  const std::string_view name_;  // of what it makes
  Owned<VkSemaphore> timeline_;

  // Nothing runs on a lost device: all has ended, but nothing of it well.
  std::atomic<bool> lost_ = false;

  std::mutex mutex_;  // of everything below
  Ticket last_ = 0;
  Ticket done_ = 0;
  // Lists, between which rows go without memory being asked for.
  std::list<Fence> fences_;  // of submissions under way
  std::list<Fence> free_fences_;
  Place kept_;
};

}  // namespace felsite::vk
