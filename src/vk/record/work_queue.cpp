#include "vk/record/work_queue.h"

#include <algorithm>
#include <thread>

#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/telemetry/counters.h"

namespace felsite::vk {
namespace {

std::uint64_t vulkan_timeout(std::chrono::nanoseconds timeout) {
  return timeout == kNoTimeout
             ? UINT64_MAX
             : static_cast<std::uint64_t>(std::max<std::int64_t>(timeout.count(), 0));
}

}  // namespace

Result<std::unique_ptr<WorkQueue>> WorkQueue::make(Device& device, VkQueue queue,
                                                   std::string_view name) {
  std::unique_ptr<WorkQueue> made(new WorkQueue(device, queue, name));
  if (device.plan().has(RuntimeFeature::TimelineSemaphores)) {
    FELSITE_CHECK(made->make_timeline());
  }
  return made;
}

WorkQueue::~WorkQueue() = default;

Result<void> WorkQueue::make_timeline() {
  const DeviceFunctions& functions = device_.functions();
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  FELSITE_TRY(timeline_, device_.make<VkSemaphore>(functions.vkCreateSemaphore,
                                                   functions.vkDestroySemaphore, info, name_));
  return {};
}

// With the lock held: one row, to be moved to those in flight. A fence that a thread still waits
// for is not free.
Result<std::list<WorkQueue::Fence>> WorkQueue::free_fence() {
  const DeviceFunctions& functions = device_.functions();
  std::list<Fence> taken;
  for (auto free = free_fences_.begin(); free != free_fences_.end(); ++free) {
    if (free->fence.use_count() != 1) continue;
    const VkFence handle = free->fence->get();
    const VkResult reset = functions.vkResetFences(device_.handle(), 1, &handle);
    if (reset != VK_SUCCESS) return std::unexpected(device_.error(reset, "reset a fence"));
    taken.splice(taken.begin(), free_fences_, free);
    return taken;
  }
  VkFenceCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
  FELSITE_TRY(auto made, device_.make<VkFence>(functions.vkCreateFence, functions.vkDestroyFence,
                                               info, name_));
  taken.push_back({0, std::make_shared<Owned<VkFence>>(std::move(made))});
  return taken;
}

Result<Ticket> WorkQueue::submit(std::span<const VkCommandBuffer> commands, const WorkQueue* other,
                                 Ticket after) {
  if (lost_) return std::unexpected(device_.error(VK_ERROR_DEVICE_LOST, "submit work"));
  const std::scoped_lock lock(mutex_, device_.queue_mutex());
  VkSubmitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
  info.commandBufferCount = static_cast<std::uint32_t>(commands.size());
  info.pCommandBuffers = commands.data();

  const Ticket ticket = last_ + 1;
  VkTimelineSemaphoreSubmitInfo values{};
  const VkSemaphore signalled = timeline_.get();
  const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
  VkSemaphore waited = VK_NULL_HANDLE;
  std::list<Fence> fence;  // one or none
  if (signalled != VK_NULL_HANDLE) {
    values.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO;
    values.signalSemaphoreValueCount = 1;
    values.pSignalSemaphoreValues = &ticket;
    info.pNext = &values;
    info.signalSemaphoreCount = 1;
    info.pSignalSemaphores = &signalled;
    if (other != nullptr && after != 0) {
      waited = other->timeline_.get();
      values.waitSemaphoreValueCount = 1;
      values.pWaitSemaphoreValues = &after;
      info.waitSemaphoreCount = 1;
      info.pWaitSemaphores = &waited;
      info.pWaitDstStageMask = &all;
    }
  } else {
    FELSITE_TRY(fence, free_fence());
  }
  const VkResult result = device_.functions().vkQueueSubmit(
      queue_, 1, &info, fence.empty() ? VK_NULL_HANDLE : fence.front().fence->get());
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  if (result != VK_SUCCESS) {
    free_fences_.splice(free_fences_.end(), fence);
    return std::unexpected(device_.error(result, "submit work"));
  }
  dispatch::count(Counter::Submissions);
  last_ = ticket;
  if (!fence.empty()) fence.front().ticket = ticket;
  fences_.splice(fences_.end(), fence);
  return ticket;
}

// With the lock held: notes what has ended, and returns what was kept for it.
WorkQueue::Place WorkQueue::poll() {
  if (timeline_.get() != VK_NULL_HANDLE) {
    std::uint64_t value = 0;
    const VkResult result =
        device_.functions().vkGetSemaphoreCounterValue(device_.handle(), timeline_.get(), &value);
    if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
    if (result == VK_SUCCESS) done_ = value;
  }
  while (!fences_.empty()) {
    const VkResult status =
        device_.functions().vkGetFenceStatus(device_.handle(), fences_.front().fence->get());
    if (status == VK_ERROR_DEVICE_LOST) lost_ = true;
    if (status != VK_SUCCESS && !lost_) break;
    done_ = std::max(done_, fences_.front().ticket);
    free_fences_.splice(free_fences_.end(), fences_, fences_.begin());
  }
  if (lost_) done_ = last_;
  Place ended;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    const auto next = std::next(kept);
    if (kept->ticket <= done_) ended.splice(ended.end(), kept_, kept);
    kept = next;
  }
  return ended;
}

bool WorkQueue::is_done(Ticket ticket) {
  Place ended;  // destroyed without the lock
  const std::lock_guard lock(mutex_);
  if (ticket > done_) ended = poll();
  return ticket <= done_;
}

VkResult WorkQueue::wait_timeline(Ticket ticket, std::uint64_t timeout_ns) const {
  const VkSemaphore semaphore = timeline_.get();
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &semaphore;
  info.pValues = &ticket;
  return device_.functions().vkWaitSemaphores(device_.handle(), &info, timeout_ns);
}

Result<void> WorkQueue::wait(Ticket ticket, std::chrono::nanoseconds timeout) {
  if (lost_) return std::unexpected(device_.error(VK_ERROR_DEVICE_LOST, "finish the work"));
  VkResult result = VK_SUCCESS;
  if (timeline_.get() != VK_NULL_HANDLE) {
    result = wait_timeline(ticket, vulkan_timeout(timeout));
  } else {
    std::shared_ptr<Owned<VkFence>> fence;
    {
      const std::lock_guard lock(mutex_);
      if (lost_) return std::unexpected(device_.error(VK_ERROR_DEVICE_LOST, "finish the work"));
      const auto found = std::ranges::find(fences_, ticket, &Fence::ticket);
      if (found == fences_.end()) return {};  // another thread saw it end
      fence = found->fence;
    }
    const VkFence handle = fence->get();
    result = device_.functions().vkWaitForFences(device_.handle(), 1, &handle, VK_TRUE,
                                                 vulkan_timeout(timeout));
  }
  if (result == VK_ERROR_DEVICE_LOST) lost_ = true;
  if (result != VK_SUCCESS) {
    return std::unexpected(result == VK_TIMEOUT ? timed_out()
                                                : device_.error(result, "finish the work"));
  }
  Place ended;
  const std::lock_guard lock(mutex_);
  done_ = std::max(done_, ticket);
  if (!fences_.empty() || !kept_.empty()) ended = poll();
  return {};
}

Error WorkQueue::timed_out() const {
  Error error = device_.error(VK_TIMEOUT, "finish the work");
  error.message = "The program did not finish within the timeout.";
  return error;
}

void WorkQueue::keep(Ticket ticket, std::shared_ptr<void> resources, Place place) noexcept {
  place.front() = {ticket, std::move(resources)};
  Place ended;
  const std::lock_guard lock(mutex_);
  kept_.splice(kept_.end(), place);
  ended = poll();
}

Ticket WorkQueue::last_ticket() {
  const std::lock_guard lock(mutex_);
  return last_;
}

std::uint64_t WorkQueue::in_flight() {
  Place ended;
  const std::lock_guard lock(mutex_);
  ended = poll();
  return last_ - done_;
}

bool WorkQueue::drain(std::chrono::nanoseconds grace) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + grace;
  const Ticket last = last_ticket();
  if (last == 0) return true;
  while (true) {
    const Clock::duration left = std::max(end - Clock::now(), Clock::duration::zero());
    const auto waited = base::guarded([&] { return wait(last, left); });
    {
      Place ended;
      const std::lock_guard lock(mutex_);
      ended = poll();
      if (done_ >= last) return true;
    }
    // A wait that fails before its time says nothing about the work.
    const bool time_is_over = waited || waited.error().code == ErrorCode::Timeout;
    if (time_is_over || left == Clock::duration::zero()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace felsite::vk
