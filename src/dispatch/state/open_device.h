// An open device with what a backend keeps for it: resident buffers, idle recordings, programs that
// are known to be valid. All of it is lost with the device.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "dispatch/contract/service.h"
#include "dispatch/state/loop_budget_tries.h"
#include "dispatch/state/recording_pool.h"
#include "dispatch/state/resident_table.h"
#include "ir/check/validity_cache.h"

namespace felsite::dispatch {

// What an object that a caller holds uses of the device. The device keeps track of it, since
// closing and freeing take it away while the object itself may stay.
class Held {
 public:
  virtual ~Held() = default;
  // Thread-safe. It is called before the last pointer to a Held is dropped.
  virtual void release() = 0;
  // Takes out what uses a freed buffer, unless it is running: a run checks for freed buffers when
  // it ends.
  virtual std::shared_ptr<Recorded> take_user(const Allocation& memory) = 0;
};

class OpenDevice {
 public:
  explicit OpenDevice(std::shared_ptr<Service> opened);
  ~OpenDevice();
  OpenDevice(const OpenDevice&) = delete;
  OpenDevice& operator=(const OpenDevice&) = delete;

  // Destroyed last.
  const std::shared_ptr<Service> service;
  ResidentTable<Allocation> buffers;
  RecordingPool recordings;
  ir::ValidityCache programs;
  LoopBudgetTries loop_budget_tries;

  const DeviceProfile& profile() const { return service->profile(); }
  // The error with the device in its context.
  Error noted(Error error) const;

  // Frees what recordings and static uploads take that nobody uses. The backend sets it.
  std::function<void()> free_caches;
  // Calls `make` again after that if the device is out of memory.
  template <class Make>
  auto with_eviction(Make make) -> decltype(make()) {
    auto made = make();
    if (made || made.error().code != ErrorCode::DeviceOutOfMemory) return made;
    free_caches();
    return make();
  }

  Result<std::shared_ptr<Recorded>> record(Submission submission);
  // Drops the recordings that use a freed buffer.
  void drop_users(const Allocation& memory);
  // When the owner of kernels is destroyed: drops those that nobody else uses, and their
  // recordings.
  void drop_unwanted(KernelOwner& owner);

  void track(const std::shared_ptr<Held>& held);
  // Releases all that callers hold, when the backend closes.
  void release_held();

  void report(MetricSnapshot& figures) const;

 private:
  std::shared_ptr<Recorded> take_held_user(const Allocation& memory);

  std::mutex held_mutex_;
  std::vector<std::weak_ptr<Held>> held_;
  std::size_t sweep_at_ = 16;  // with so many of them, expired ones are removed
  std::atomic<std::uint64_t> recorded_ = 0;
};

}  // namespace felsite::dispatch
