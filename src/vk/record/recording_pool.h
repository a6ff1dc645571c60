// Idle recordings, found by what they do.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "felsite/program.h"
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

// Thread-safe. Threads that run the same work at the same time each get their own recording. The
// least recently used are evicted first.
class RecordingPool {
 public:
  // `most_bytes` bounds the memory that only idle recordings use.
  explicit RecordingPool(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

  // Takes an idle one out, or gives null.
  std::shared_ptr<Recording> take(const ir::Fingerprint& key);
  void release(const ir::Fingerprint& key, std::shared_ptr<Recording> recording,
               std::uint64_t own_bytes) noexcept;
  void forget(const ir::Fingerprint& key);
  // Drops those that use a freed buffer or an evicted kernel, so that its memory is freed too.
  void drop_users(const Buffer* buffer) { drop_users_of(buffer); }
  void drop_users_of_kernel(const KernelOnDevice* kernel) { drop_users_of(kernel); }
  void clear();
  std::size_t size() const;
  // Device memory of all idle recordings together.
  std::uint64_t own_bytes() const;

 private:
  struct Idle {
    ir::Fingerprint key;
    std::shared_ptr<Recording> recording;
    std::uint64_t own_bytes;
  };
  using Place = std::list<Idle>::iterator;
  struct Hash {
    std::size_t operator()(const ir::Fingerprint& f) const { return f.low ^ f.high; }
  };
  void remove(Place place, std::list<Idle>& dropped);
  template <class Used>
  void drop_users_of(const Used* used);

  static constexpr std::size_t kMost = 256;
  const std::uint64_t most_bytes_;
  mutable std::mutex mutex_;
  std::list<Idle> idle_;  // the least recently used last
  std::unordered_multimap<ir::Fingerprint, Place, Hash> by_key_;
  std::uint64_t own_bytes_ = 0;
};

}  // namespace felsite::vk
