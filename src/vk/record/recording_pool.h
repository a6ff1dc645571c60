// Recordings that wait to run again, by what they do.
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

// Usable from many threads. Threads that run the same at the same time each get a recording of
// their own. The least recently used go first.
class RecordingPool {
 public:
  // `most_bytes` bounds the memory that idle recordings have for themselves alone.
  explicit RecordingPool(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

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
