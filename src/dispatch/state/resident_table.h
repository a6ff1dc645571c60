// Handles for buffers of any kind. A handle names one buffer, and no other one after that is freed.
#pragma once

#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "felsite/error.h"
#include "felsite/resident.h"

namespace felsite::dispatch {

Error invalid_handle(const ResidentHandle& handle, std::uint64_t backend);
// BadInputs for a call that would change or free a shared buffer.
Error only_read();
// A number that no other backend of this process has.
std::uint64_t new_backend_number();

// Thread-safe. A buffer lives until it is freed and no longer in use.
template <class Buffer>
class ResidentTable {
 public:
  ResidentTable() : backend_(new_backend_number()) {}

  ResidentHandle add(std::shared_ptr<Buffer> buffer) {
    const std::unique_lock lock(mutex_);
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(slots_.size());
      // Room to free every slot, so that freeing never has to allocate.
      if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 1);
      slots_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    slots_[slot].buffer = std::move(buffer);
    ++living_;
    return {backend_, slot, slots_[slot].generation};
  }

  Result<std::shared_ptr<Buffer>> find(const ResidentHandle& handle) const {
    const std::shared_lock lock(mutex_);
    if (!is_alive(handle)) return std::unexpected(invalid_handle(handle, backend_));
    return slots_[handle.slot].buffer;
  }

  // For callers that may change its contents.
  Result<std::shared_ptr<Buffer>> find_writable(const ResidentHandle& handle) const {
    const std::shared_lock lock(mutex_);
    if (!is_alive(handle)) return std::unexpected(invalid_handle(handle, backend_));
    if (slots_[handle.slot].is_protected) return std::unexpected(only_read());
    return slots_[handle.slot].buffer;
  }

  // A protected buffer can only be read. Does nothing for a stale handle.
  void protect(const ResidentHandle& handle, bool is_protected) {
    const std::unique_lock lock(mutex_);
    if (is_alive(handle)) slots_[handle.slot].is_protected = is_protected;
  }

  // Gives the buffer to the caller, who destroys it outside the lock.
  Result<std::shared_ptr<Buffer>> remove(const ResidentHandle& handle) {
    const std::unique_lock lock(mutex_);
    if (!is_alive(handle)) return std::unexpected(invalid_handle(handle, backend_));
    Slot& slot = slots_[handle.slot];
    if (slot.is_protected) return std::unexpected(only_read());
    std::shared_ptr<Buffer> buffer = std::move(slot.buffer);
    // A slot whose generations are used up is not used again.
    if (++slot.generation != 0) free_.push_back(handle.slot);
    ++removals_;
    --living_;
    return buffer;
  }

  // Changes whenever a handle may have become invalid.
  std::uint64_t removals() const {
    const std::shared_lock lock(mutex_);
    return removals_;
  }

  std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return living_;
  }

  template <class Visit>
  void each(Visit visit) const {
    const std::shared_lock lock(mutex_);
    for (const Slot& slot : slots_) {
      if (slot.buffer != nullptr) visit(*slot.buffer);
    }
  }

  void clear() {
    for (std::uint32_t i = 0; true; ++i) {
      std::shared_ptr<Buffer> gone;  // declared before the lock, so destroyed after its release
      const std::unique_lock lock(mutex_);
      if (i >= slots_.size()) return;
      Slot& slot = slots_[i];
      if (slot.buffer == nullptr) continue;
      gone = std::move(slot.buffer);
      slot.is_protected = false;
      if (++slot.generation != 0) free_.push_back(i);
      ++removals_;
      --living_;
    }
  }

 private:
  struct Slot {
    std::shared_ptr<Buffer> buffer;
    std::uint32_t generation = 1;
    bool is_protected = false;
  };
  bool is_alive(const ResidentHandle& handle) const {
    return handle.backend == backend_ && handle.slot < slots_.size() &&
           slots_[handle.slot].generation == handle.generation &&
           slots_[handle.slot].buffer != nullptr;
  }

  const std::uint64_t backend_;
  mutable std::shared_mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::size_t living_ = 0;
  std::uint64_t removals_ = 0;
};

}  // namespace felsite::dispatch
