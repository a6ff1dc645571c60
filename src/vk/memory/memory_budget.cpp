#include "vk/memory/memory_budget.h"

#include <algorithm>

namespace felsite::vk {

std::shared_ptr<MemoryBudget> MemoryBudget::of_host() {
  // Never destroyed, because backends that are static objects release memory when they close.
  static auto& budget =
      *new std::shared_ptr<MemoryBudget>(std::make_shared<MemoryBudget>(base::host_memory));
  return budget;
}

std::expected<void, std::uint64_t> MemoryBudget::take(std::uint64_t bytes) {
  const std::uint64_t unasked = unqueried_.load();
  std::uint64_t free = UINT64_MAX;
  if (bytes >= kQueryInterval || unasked >= kQueryInterval - bytes) {
    const base::HostMemory host = ask_();
    limit_ = host.total / 4 * 3;
    const std::uint64_t spared = host.total / 16;
    free = host.available - std::min(host.available, spared);
    unqueried_ = 0;
  } else {
    unqueried_ = unasked + bytes;
  }
  const std::uint64_t limit = limit_;
  std::uint64_t taken = taken_;
  do {
    const std::uint64_t room = std::min(limit - std::min(limit, taken), free);
    if (bytes > room) {
      unqueried_ = kQueryInterval;  // the next request asks the host again
      return std::unexpected(room);
    }
  } while (!taken_.compare_exchange_weak(taken, taken + bytes));
  return {};
}

}  // namespace felsite::vk
