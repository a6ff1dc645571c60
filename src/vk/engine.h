// An open device with all that runs programs on it: what a lost device takes with it, and what a
// recovery makes anew.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "dispatch/resident_table.h"
#include "felsite/device_profile.h"
#include "vk/pipelines.h"
#include "vk/recording_pool.h"
#include "vk/step_binding.h"
#include "vk/transfers.h"

namespace felsite::vk {

// A recording under way.
struct Running {
  std::shared_ptr<Recording> recording;
  Ticket ticket = 0;
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point submitted;
};

class Engine {
 public:
  // `grace`: how long closing waits for what still runs.
  static Result<std::shared_ptr<Engine>> make(std::unique_ptr<Device> device,
                                              std::optional<std::filesystem::path> cache_folder,
                                              std::chrono::nanoseconds grace);
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
  // another failed wait or submission.
  Result<DispatchTiming> finish(Running& running, std::chrono::nanoseconds timeout);
  // Lets a run go that nobody will wait for.
  void abandon(Running running);

  Result<void> wait_for_all();
  // The same, but for the grace only, and that once; false if something runs still.
  bool drain();
  void report(MetricSnapshot& figures);

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
      : parts_(std::make_unique<Parts>()), grace_(grace) {}
  Result<void> look_at_work(Recording& recording, std::chrono::steady_clock::time_point ended,
                            DispatchTiming& timing);
  Result<void> make_parts(std::unique_ptr<Device> device,
                          std::optional<std::filesystem::path> cache_folder);

  DeviceProfile profile_;
  std::unique_ptr<Parts> parts_;    // destroyed from the last to the first
  std::chrono::nanoseconds grace_;  // what is left of it
  std::atomic<bool> lost_ = false;
  std::atomic<std::uint64_t> recorded_ = 0;
};

}  // namespace felsite::vk
