// Memory of the reference backend: host memory, within a limit.
#pragma once

#include <atomic>

#include "dispatch/contract/service.h"

namespace felsite::dispatch {

// How much of the limit is taken. Allocations share it, since they may outlive the backend.
struct MemoryLimit {
  explicit MemoryLimit(std::uint64_t bytes) : limit(bytes) {}
  const std::uint64_t limit;
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> allocations{0};
};

class HostBuffer final : public Allocation {
 public:
  // DeviceOutOfMemory names what was requested and what is left.
  static Result<std::shared_ptr<HostBuffer>> make(std::shared_ptr<MemoryLimit> limit,
                                                  std::uint64_t bytes);
  // The caller's bytes, which are only read.
  static std::shared_ptr<HostBuffer> borrow(ByteSpan bytes);
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() override;

  std::uint64_t bytes() const override { return bytes_; }
  std::byte* data() const { return data_; }

 private:
  HostBuffer() = default;

  std::shared_ptr<MemoryLimit> limit_;  // null: borrowed
  Bytes own_;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// Where a range begins; null where nothing is bound.
inline std::byte* data_of(const MemoryRange& range) {
  if (range.memory == nullptr) return nullptr;
  return static_cast<const HostBuffer&>(*range.memory).data() + range.offset;
}

}  // namespace felsite::dispatch
