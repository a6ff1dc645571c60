// Recordings that wait to run again, by what they do.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/lru.h"
#include "ir/fingerprint.h"
#include "vk/record/recording.h"

namespace felsite::vk {

// Names all that a recording depends on; built from words, compared by a 128-bit hash.
class RecordingKey {
 public:
  RecordingKey& add(std::uint64_t word) {
    words_.push_back(word);
    return *this;
  }
  RecordingKey& add(const ir::Fingerprint& fingerprint) {
    return add(fingerprint.high).add(fingerprint.low);
  }
  RecordingKey& add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<unsigned char>(c));
    return *this;
  }
  ir::Fingerprint hash() const;

 private:
  std::vector<std::uint64_t> words_;
};

// Usable from many threads. Threads that run the same at the same time each get a recording of
// their own. The least recently used go first.
class RecordingPool {
 public:
  // `most_bytes` bounds the memory that idle recordings have for themselves alone.
  explicit RecordingPool(std::uint64_t most_bytes)
      : most_bytes_(most_bytes), idle_({.entries = kMost, .bytes = most_bytes}) {}

  // One that is idle, or none.
  std::shared_ptr<Recording> take(const ir::Fingerprint& key);
  void give_back(const ir::Fingerprint& key, std::shared_ptr<Recording> recording,
                 std::uint64_t own_bytes) noexcept;
  void forget(const ir::Fingerprint& key);
  // Those that use a buffer that is freed, or a kernel that nobody wants any more: its memory goes
  // with them.
  void drop_users(const Buffer* buffer) { drop_users_of(buffer); }
  void drop_users_of_kernel(const KernelOnDevice* kernel) { drop_users_of(kernel); }
  void clear();
  std::size_t size() const;
  // Of all of them together, of the device's memory.
  std::uint64_t own_bytes() const;

 private:
  using Idle = base::Lru<ir::Fingerprint, std::shared_ptr<Recording>, ir::FingerprintHash>;
  template <class Used>
  void drop_users_of(const Used* used);

  static constexpr std::size_t kMost = 256;
  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  Idle idle_;
};

}  // namespace felsite::vk
