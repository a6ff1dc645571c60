// An open device with all that runs programs on it: what a lost device takes with it, and what a
// recovery makes anew.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "base/deadline.h"
#include "dispatch/contract/resident_table.h"
#include "felsite/device_profile.h"
#include "vk/kernel/pipelines.h"
#include "vk/record/recording_pool.h"
#include "vk/record/step_binding.h"
#include "vk/record/transfers.h"

namespace felsite::vk {

// A recording under way.
struct Running {
  std::shared_ptr<Recording> recording;
  Ticket ticket = 0;  // of what was submitted last
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point submitted;
  std::chrono::nanoseconds enqueued{};  // the host's time for all submissions
  DispatchTiming timing{};
  bool ended = false;  // nothing is left to submit or to wait for
  // What a look found, for the one who waits.
  std::optional<Error> failed{};
  // A row for each list it may go to, made before anything is submitted: letting it go then needs
  // no memory.
  WorkQueue::Place place{};
  struct Abandoned {
    Ticket ticket = 0;
    std::weak_ptr<const Recording> recording;  // gone once its work has ended
  };
  std::list<Abandoned> abandoned{};
};

class Engine {
 public:
  // `grace`: how long closing waits for what still runs. `budget`: other than Memory chooses.
  static Result<std::shared_ptr<Engine>> make(std::unique_ptr<Device> device,
                                              std::optional<std::filesystem::path> cache_folder,
                                              std::chrono::nanoseconds grace,
                                              const std::shared_ptr<MemoryBudget>& budget = {});
  // What does not end within the grace stays for the rest of the process, with all that it uses:
  // Vulkan cannot stop it.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Device& device() { return *parts_->device; }
  Memory& memory() { return *parts_->memory; }
  WorkQueue& queue() { return *parts_->queue; }
  Transfers& transfers() { return *parts_->transfers; }
  Pipelines& pipelines() { return *parts_->pipelines; }
  RecordingPool& recordings() { return *parts_->recordings; }
  dispatch::ResidentTable<Buffer>& buffers() { return *parts_->buffers; }
  const DeviceProfile& profile() const { return profile_; }

  Result<Running> start(std::shared_ptr<Recording> recording, std::span<const ByteSpan> uploads);
  // Waits, and says what the kernels report. Of a watched sequence `start` submits the beginning
  // only, and all the rest happens here. After a timeout, which is for all of that, the recording
  // goes on running as far as it was submitted and is not the caller's any more; nor is it after
  // another failed wait or submission, nor when `stop` was raised.
  Result<DispatchTiming> finish(Running& running, std::chrono::nanoseconds timeout,
                                const base::StopFlag* stop = nullptr);
  // Without waiting: whether `finish` would not wait either. Of a watched sequence it submits what
  // is to come next.
  bool look_after(Running& running);
  // Lets a run go that nobody will wait for.
  void abandon(Running running) noexcept;
  // Before the host touches a buffer in place: until no run that was let go uses it any more.
  // Timeout where that takes longer than closing would wait, or than the caller has time.
  Result<void> until_unused(const Buffer& buffer, std::chrono::nanoseconds timeout = kNoTimeout);
  // Of buffers that are freed: recordings that use them give their memory back.
  void drop_users(const Buffer& buffer);
  // When their owner goes: its kernels, and the recordings with them, as far as nobody else wants
  // them.
  void drop_unwanted(KernelUse& use);
  // What an object in a caller's hands has of the engine. It is known here, since closing and
  // freeing take it away; the object itself may stay.
  class Held {
   public:
    virtual ~Held() = default;
    // Of any thread. Whoever drops the last pointer to a Held has called it before.
    virtual void let_go() = 0;
    // Takes out what uses a buffer that was freed, unless that is running: then it looks itself
    // when it has ended.
    virtual std::shared_ptr<Recording> take_user(const Buffer& buffer) = 0;
  };
  void watch_over(const std::shared_ptr<Held>& held);
  // All that is held, as the engine closes.
  void take_back();

  Result<void> wait_for_all();
  // Until all that was submitted has ended or the device is lost, also where waiting itself fails:
  // a caller's memory that kernels read is the caller's again only then.
  void outlast_work() noexcept;
  // The same, but for the grace only, and that once; false if something runs still.
  bool drain();
  void report(MetricSnapshot& figures);

  // Programs whose loops exceeded the driver's budget when all of them was one workgroup.
  bool is_over_budget(const ir::Fingerprint& program);
  void note_over_budget(const ir::Fingerprint& program);

  // Also where only a look at a queue was told so.
  bool is_lost() const;
  // Remembers a lost device; gives the error back.
  Error noted(Error error);
  std::uint64_t recorded() const { return recorded_; }
  Result<std::shared_ptr<Recording>> record(Sequence sequence);

 private:
  struct Parts {
    std::unique_ptr<Device> device;
    std::unique_ptr<Memory> memory;
    std::unique_ptr<WorkQueue> queue;
    std::unique_ptr<WorkQueue> transfer_queue;  // only where copies have one of their own
    std::unique_ptr<Pipelines> pipelines;
    std::unique_ptr<Transfers> transfers;
    std::unique_ptr<dispatch::ResidentTable<Buffer>> buffers;
    std::unique_ptr<RecordingPool> recordings;
  };

  explicit Engine(std::chrono::nanoseconds grace)
      : parts_(std::make_unique<Parts>()), patience_(grace), grace_(grace) {}
  Result<bool> look_at_work(Running& running);
  Result<void> look_at_clock(Running& running, std::chrono::steady_clock::time_point ended);
  Result<void> go_on(Running& running);
  void forget_ended();
  std::shared_ptr<Recording> take_held_user(const Buffer& buffer);
  Result<void> make_parts(std::unique_ptr<Device> device,
                          std::optional<std::filesystem::path> cache_folder,
                          const std::shared_ptr<MemoryBudget>& budget);

  DeviceProfile profile_;
  std::unique_ptr<Parts> parts_;  // destroyed from the last to the first
  const std::chrono::nanoseconds patience_;
  std::chrono::nanoseconds grace_;  // what is left of it
  std::mutex users_mutex_;          // of the next two
  std::list<Running::Abandoned> abandoned_;
  std::vector<std::weak_ptr<Held>> held_;
  std::size_t sweep_at_ = 16;  // that many of them: those that are gone are forgotten
  std::mutex budget_mutex_;
  std::vector<ir::Fingerprint> over_budget_;
  std::atomic<bool> lost_ = false;
  std::atomic<std::uint64_t> recorded_ = 0;
};

}  // namespace felsite::vk
