// Idle recordings, found by what they do.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/lru.h"
#include "dispatch/contract/service.h"
#include "ir/fingerprint.h"

namespace felsite::dispatch {

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

struct PooledRecording {
  std::shared_ptr<Recorded> recorded;
  std::vector<CompiledKernel::Use> buffers{};  // of a plain dispatch: those that have memory
};

// Thread-safe. Threads that run the same work at the same time each get their own recording. The
// least recently used are evicted first.
class RecordingPool {
 public:
  // `most_bytes` bounds the memory that idle recordings have for themselves alone.
  explicit RecordingPool(std::uint64_t most_bytes)
      : most_bytes_(most_bytes), idle_({.entries = kMax, .bytes = most_bytes}) {}

  // Takes an idle one out; its recording is null if there is none.
  PooledRecording take(const ir::Fingerprint& key);
  void release(const ir::Fingerprint& key, PooledRecording recording) noexcept;
  void forget(const ir::Fingerprint& key);
  // Drops those that use a freed buffer or an evicted kernel, so that its memory is freed too.
  void drop_users(const Allocation& memory) { drop_users_of(memory); }
  void drop_users(const CompiledKernel& kernel) { drop_users_of(kernel); }
  void clear();
  std::size_t size() const;
  // Device memory of all idle recordings together.
  std::uint64_t own_bytes() const;

 private:
  using Idle = base::Lru<ir::Fingerprint, PooledRecording, ir::FingerprintHash>;
  template <class Used>
  void drop_users_of(const Used& used);

  static constexpr std::size_t kMax = 256;
  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  Idle idle_;
};

}  // namespace felsite::dispatch
