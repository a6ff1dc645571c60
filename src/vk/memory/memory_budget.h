// How much of the host's memory the buffers of software devices may take. Such devices promise any
// amount, and the machine fails when the promised pages are touched.
#pragma once

#include <atomic>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>

#include "base/host_memory.h"

namespace felsite::vk {

// Usable from many threads.
class MemoryBudget {
 public:
  using Ask = std::function<base::HostMemory()>;
  explicit MemoryBudget(Ask ask) : ask_(std::move(ask)) {}

  // One for all devices of the process.
  static std::shared_ptr<MemoryBudget> of_host();

  // Three quarters of the memory in all, and a sixteenth of it stays free. Otherwise nothing is
  // taken, and this is how much there is.
  std::expected<void, std::uint64_t> take(std::uint64_t bytes);
  void give_back(std::uint64_t bytes) { taken_ -= bytes; }
  std::uint64_t taken() const { return taken_; }

 private:
  // Asking takes as long as a small buffer does.
  static constexpr std::uint64_t kAskEvery = std::uint64_t{16} << 20;

  const Ask ask_;
  std::atomic<std::uint64_t> taken_ = 0;            // touched or not
  std::atomic<std::uint64_t> unasked_ = kAskEvery;  // taken since the host was asked
  std::atomic<std::uint64_t> limit_ = 0;            // of all; as the host said last
};

}  // namespace felsite::vk
