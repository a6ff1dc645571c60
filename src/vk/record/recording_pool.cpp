#include "vk/record/recording_pool.h"

#include <xxhash.h>

#include "base/guarded.h"

namespace felsite::vk {

ir::Fingerprint RecordingKey::hash() const {
  const XXH128_hash_t hash = XXH3_128bits(words_.data(), words_.size() * sizeof words_[0]);
  return {hash.high64, hash.low64};
}

std::shared_ptr<Recording> RecordingPool::take(const ir::Fingerprint& key) {
  const std::lock_guard lock(mutex_);
  Idle::Entries taken = idle_.take(key);
  return taken.empty() ? nullptr : std::move(taken.front().value);
}

void RecordingPool::release(const ir::Fingerprint& key, std::shared_ptr<Recording> recording,
                            std::uint64_t own_bytes) noexcept {
  if (own_bytes > most_bytes_) return;  // it would drive out all others
  // Where there is no memory to keep it, it is destroyed.
  base::best_effort([&] {
    Idle::Entries evicted;  // destroyed without the lock
    Idle::Entries fresh = Idle::make(key, std::move(recording), own_bytes);
    const std::lock_guard lock(mutex_);
    evicted = idle_.add(fresh);
  });
}

void RecordingPool::forget(const ir::Fingerprint& key) {
  while (take(key) != nullptr) {
  }
}

template <class Used>
void RecordingPool::drop_users_of(const Used* used) {
  Idle::Entries dropped;
  const std::lock_guard lock(mutex_);
  dropped = idle_.take_if([&](const Idle::Entry& entry) { return entry.value->uses(used); });
}

template void RecordingPool::drop_users_of(const Buffer* used);
template void RecordingPool::drop_users_of(const KernelOnDevice* used);

void RecordingPool::clear() {
  Idle::Entries dropped;
  const std::lock_guard lock(mutex_);
  dropped = idle_.take_all();
}

std::size_t RecordingPool::size() const {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

std::uint64_t RecordingPool::own_bytes() const {
  const std::lock_guard lock(mutex_);
  return idle_.bytes();
}

}  // namespace felsite::vk
