// Resident buffers of the reference backend: host memory, within a limit.
#pragma once

#include <atomic>
#include <utility>

#include "dispatch/contract/resident_table.h"
#include "felsite/figures.h"

namespace felsite::dispatch {

// A share of the memory limit, released on destruction.
class MemoryShare {
 public:
  MemoryShare(std::atomic<std::uint64_t>& taken, std::uint64_t bytes)
      : taken_(&taken), bytes_(bytes) {}
  MemoryShare(MemoryShare&& other) noexcept
      : taken_(std::exchange(other.taken_, nullptr)), bytes_(other.bytes_) {}
  MemoryShare& operator=(MemoryShare&&) = delete;
  ~MemoryShare() {
    if (taken_ != nullptr) *taken_ -= bytes_;
  }

 private:
  std::atomic<std::uint64_t>* taken_;
  std::uint64_t bytes_;
};

struct HostBuffer {
  MemoryShare share;
  Bytes bytes;
};

class HostMemory {
 public:
  explicit HostMemory(std::uint64_t limit);

  // All or nothing; DeviceOutOfMemory names what was requested and what is left.
  Result<std::vector<ResidentHandle>> allocate(std::span<const std::uint64_t> sizes);
  Result<std::shared_ptr<HostBuffer>> find(const ResidentHandle& handle) const {
    return table_.find(handle);
  }
  Result<std::shared_ptr<HostBuffer>> find_writable(const ResidentHandle& handle) const {
    return table_.find_writable(handle);
  }
  void protect(const ResidentHandle& handle, bool is_protected) {
    table_.protect(handle, is_protected);
  }
  Result<void> free(const ResidentHandle& handle);
  void clear();
  // Fills in its part of the figures.
  void report(MetricSnapshot& figures) const;

 private:
  Result<MemoryShare> take(std::uint64_t bytes);

  const std::uint64_t limit_;
  std::atomic<std::uint64_t> taken_{0};     // by buffers that are alive or still in use
  std::atomic<std::uint64_t> resident_{0};  // by buffers that are alive
  std::atomic<std::uint64_t> allocations_{0};
  ResidentTable<HostBuffer> table_;
};

}  // namespace felsite::dispatch
