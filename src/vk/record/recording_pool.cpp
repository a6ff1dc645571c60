#include "vk/record/recording_pool.h"

#include <xxhash.h>

#include "base/guarded.h"

namespace felsite::vk {

ir::Fingerprint RecordingKey::hash() const {
  const XXH128_hash_t hash = XXH3_128bits(words_.data(), words_.size() * sizeof words_[0]);
  return {hash.high64, hash.low64};
}

// With the lock held: moves rows to `dropped`, which is destroyed without the lock. Does not
// allocate.
void RecordingPool::remove(Place place, std::list<Idle>& dropped) {
  auto [row, end] = by_key_.equal_range(place->key);
  while (row != end && row->second != place) ++row;
  if (row != end) by_key_.erase(row);
  own_bytes_ -= place->own_bytes;
  dropped.splice(dropped.end(), idle_, place);
}

std::shared_ptr<Recording> RecordingPool::take(const ir::Fingerprint& key) {
  std::list<Idle> taken;
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  remove(found->second, taken);
  return std::move(taken.front().recording);
}

void RecordingPool::release(const ir::Fingerprint& key, std::shared_ptr<Recording> recording,
                            std::uint64_t own_bytes) noexcept {
  if (own_bytes > most_bytes_) return;  // it would evict all others and then itself
  // Without memory for the row the recording is dropped.
  base::best_effort([&] {
    std::list<Idle> dropped;  // destroyed without the lock
    std::list<Idle> fresh;
    fresh.push_back({key, std::move(recording), own_bytes});
    const std::lock_guard lock(mutex_);
    by_key_.emplace(key, fresh.begin());
    idle_.splice(idle_.begin(), fresh);
    own_bytes_ += own_bytes;
    while (idle_.size() > kMost || own_bytes_ > most_bytes_) {
      remove(std::prev(idle_.end()), dropped);
    }
  });
}

void RecordingPool::forget(const ir::Fingerprint& key) {
  while (take(key) != nullptr) {
  }
}

template <class Used>
void RecordingPool::drop_users_of(const Used* used) {
  std::list<Idle> dropped;
  const std::lock_guard lock(mutex_);
  for (Place place = idle_.begin(); place != idle_.end();) {
    const Place next = std::next(place);
    if (place->recording->uses(used)) remove(place, dropped);
    place = next;
  }
}

template void RecordingPool::drop_users_of(const Buffer* used);
template void RecordingPool::drop_users_of(const KernelOnDevice* used);

void RecordingPool::clear() {
  std::list<Idle> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(idle_);
  by_key_.clear();
  own_bytes_ = 0;
}

std::size_t RecordingPool::size() const {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

std::uint64_t RecordingPool::own_bytes() const {
  const std::lock_guard lock(mutex_);
  return own_bytes_;
}

}  // namespace felsite::vk
