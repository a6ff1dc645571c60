// One workgroup may be tried although its loops could exceed the driver's loop budget: then that is
// an error, and it runs again in segments, each with a fresh budget. Next time it does not try.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "dispatch/schedule/routing.h"

namespace felsite::dispatch {

// Of one device. Thread-safe.
class LoopBudgetTries {
 public:
  // `run(can_try)` runs the program on inputs that are still there after an error.
  template <class Run>
  auto run(const ir::Program& program, const DispatchConfig& config, Run run)
      -> decltype(run(true)) {
    const bool can_try = config.grid_sync == GridSync::Automatic &&
                         needs_grid_sync_form(program, config) && !has_failed(program);
    auto ran = run(can_try);
    if (ran || !can_try || ran.error().code != ErrorCode::LoopBudgetExceeded) return ran;
    note_failed(program);
    return run(false);
  }

 private:
  bool has_failed(const ir::Program& program) {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(failed_, program.fingerprint()) != failed_.end();
  }
  void note_failed(const ir::Program& program) {
    constexpr std::size_t kMost = 256;  // what is forgotten will be found out again
    const std::lock_guard lock(mutex_);
    if (failed_.size() == kMost) failed_.erase(failed_.begin());
    failed_.push_back(program.fingerprint());
  }

  std::mutex mutex_;
  std::vector<ir::Fingerprint> failed_;
};

}  // namespace felsite::dispatch
