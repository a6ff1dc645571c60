// An open device with all that runs sequences on it. All of it is lost with the device, and made
// again by a recovery.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "base/deadline.h"
#include "felsite/device_profile.h"
#include "vk/kernel/pipelines.h"
#include "vk/record/recording.h"
#include "vk/record/step_binding.h"
#include "vk/record/transfers.h"

namespace felsite::vk {

// A recording that was submitted.
struct Running {
  std::shared_ptr<Recording> recording;
  Ticket ticket = 0;  // of what was submitted last
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point submitted;
  std::chrono::nanoseconds enqueued{};  // the host's time for all submissions
  DispatchTiming timing{};
  bool ended = false;  // nothing is left to submit or to wait for
  // What Engine::advance found, for the later wait.
  std::optional<Error> failed{};
  // One row for each list that it may be moved to, made before anything is submitted, so that
  // abandoning it does not allocate.
  WorkQueue::Place place{};
  struct Abandoned {
    Ticket ticket = 0;
    std::weak_ptr<const Recording> recording;  // expired once its work has ended
  };
  std::list<Abandoned> abandoned{};
};

class Engine {
 public:
  // `grace`: how long closing waits for running work. `budget`: instead of the one that Memory
  // chooses.
  static Result<std::shared_ptr<Engine>> make(std::unique_ptr<Device> device,
                                              std::optional<std::filesystem::path> cache_folder,
                                              std::chrono::nanoseconds grace,
                                              const std::shared_ptr<MemoryBudget>& budget = {});
  // Work that does not end within the grace stays for the rest of the process, with all that it
  // uses: Vulkan cannot stop it.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Device& device() { return *parts_->device; }
  Memory& memory() { return *parts_->memory; }
  WorkQueue& queue() { return *parts_->queue; }
  Transfers& transfers() { return *parts_->transfers; }
  Pipelines& pipelines() { return *parts_->pipelines; }
  const DeviceProfile& profile() const { return profile_; }

  Result<Running> start(std::shared_ptr<Recording> recording, std::span<const ByteSpan> uploads);
  // Several, as one submission: all but the last can go before others.
  Result<std::vector<Running>> start(std::vector<std::shared_ptr<Recording>> recordings,
                                     std::span<const ByteSpan> uploads);
  // Waits, and returns the error that a kernel reported. For a watched sequence `start` submits
  // only the beginning, and the rest is submitted here; the timeout covers all of it. After a
  // timeout, another failed wait or submission, or a raised `stop`, the submitted part keeps
  // running and the recording no longer belongs to the caller.
  Result<DispatchTiming> finish(Running& running, std::chrono::nanoseconds timeout,
                                const base::StopFlag* stop = nullptr);
  // Whether `finish` would return without waiting. Submits the next part of a watched sequence.
  bool advance(Running& running);
  // Gives up a run that nobody will wait for.
  void abandon(Running running) noexcept;
  // Waits until no abandoned run uses the buffer, which the host wants to access in place. Timeout
  // if that takes longer than closing would wait, or than `timeout`.
  Result<void> wait_until_unused(const Buffer& buffer,
                                 std::chrono::nanoseconds timeout = kNoTimeout);

  Result<void> wait_for_all();
  // Returns when all submitted work has ended or the device is lost, even if waiting fails: only
  // then may a caller reuse memory that kernels read.
  void wait_until_idle() noexcept;
  // The same within the grace, which is used up only once; false if something still runs.
  bool drain();
  void report(MetricSnapshot& figures);

  // Also if only a poll of a queue reported it.
  bool is_lost() const;
  void note_lost() { lost_ = true; }
  // Remembers a lost device, and returns the error with the device in its context.
  Error noted(Error error);
  Result<std::shared_ptr<Recording>> record(Sequence sequence);

 private:
  struct Parts {
    std::unique_ptr<Device> device;
    std::unique_ptr<Memory> memory;
    std::unique_ptr<WorkQueue> queue;
    std::unique_ptr<WorkQueue> transfer_queue;  // null where copies run on the compute queue
    std::unique_ptr<Pipelines> pipelines;
    std::unique_ptr<Transfers> transfers;
  };

  explicit Engine(std::chrono::nanoseconds grace)
      : parts_(std::make_unique<Parts>()), patience_(grace), grace_(grace) {}
  Result<bool> inspect_submission(Running& running);
  Result<void> add_device_times(Running& running, std::chrono::steady_clock::time_point ended);
  Result<void> submit_next(Running& running);
  void forget_ended();
  Result<void> make_parts(std::unique_ptr<Device> device,
                          std::optional<std::filesystem::path> cache_folder,
                          const std::shared_ptr<MemoryBudget>& budget);

  DeviceProfile profile_;
  std::unique_ptr<Parts> parts_;  // its members are destroyed from the last to the first
  const std::chrono::nanoseconds patience_;
  std::chrono::nanoseconds grace_;  // what is left of the grace
  std::mutex users_mutex_;
  std::list<Running::Abandoned> abandoned_;
  std::atomic<bool> lost_ = false;
};

}  // namespace felsite::vk
