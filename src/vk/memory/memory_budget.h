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

// Thread-safe.
class MemoryBudget {
 public:
  using Ask = std::function<base::HostMemory()>;
  explicit MemoryBudget(Ask ask) : ask_(std::move(ask)) {}

  // One for all devices of the process.
  static std::shared_ptr<MemoryBudget> of_host();

  // Takes at most three quarters of all memory, and leaves a sixteenth of it free. Otherwise
  // nothing is taken, and the result is how much there is.
  std::expected<void, std::uint64_t> take(std::uint64_t bytes);
  void release(std::uint64_t bytes) { taken_ -= bytes; }
  std::uint64_t taken() const { return taken_; }

 private:
  // Asking the host takes as long as making a small buffer.
  static constexpr std::uint64_t kQueryInterval = std::uint64_t{16} << 20;

  const Ask ask_;
  std::atomic<std::uint64_t> taken_ = 0;                   // touched or not
  std::atomic<std::uint64_t> unqueried_ = kQueryInterval;  // taken since the host was asked
  std::atomic<std::uint64_t> limit_ = 0;                   // of all; what the host reported last
};

}  // namespace felsite::vk
