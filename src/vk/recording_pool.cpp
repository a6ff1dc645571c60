#include "vk/recording_pool.h"

#include <xxhash.h>

namespace felsite::vk {

ir::Fingerprint RecordingKey::hash() const {
  const XXH128_hash_t hash = XXH3_128bits(words_.data(), words_.size() * sizeof words_[0]);
  return {hash.high64, hash.low64};
}

// With the lock held.
std::shared_ptr<Recording> RecordingPool::remove(Place place) {
  auto [row, end] = by_key_.equal_range(place->key);
  while (row != end && row->second != place) ++row;
  if (row != end) by_key_.erase(row);
  std::shared_ptr<Recording> recording = std::move(place->recording);
  own_bytes_ -= place->own_bytes;
  idle_.erase(place);
  return recording;
}

std::shared_ptr<Recording> RecordingPool::take(const ir::Fingerprint& key) {
  const std::lock_guard lock(mutex_);
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : remove(found->second);
}

void RecordingPool::give_back(const ir::Fingerprint& key, std::shared_ptr<Recording> recording,
                              std::uint64_t own_bytes) {
  if (own_bytes > most_bytes_) return;  // it would drive out all others, and then go itself
  std::vector<std::shared_ptr<Recording>> dropped;  // let go without the lock
  const std::lock_guard lock(mutex_);
  idle_.push_front({key, std::move(recording), own_bytes});
  by_key_.emplace(key, idle_.begin());
  own_bytes_ += own_bytes;
  while (idle_.size() > kMost || own_bytes_ > most_bytes_) {
    dropped.push_back(remove(std::prev(idle_.end())));
  }
}

void RecordingPool::forget(const ir::Fingerprint& key) {
  while (take(key) != nullptr) {
  }
}

template <class Used>
void RecordingPool::drop_users_of(const Used* used) {
  std::vector<std::shared_ptr<Recording>> dropped;
  const std::lock_guard lock(mutex_);
  for (Place place = idle_.begin(); place != idle_.end();) {
    const Place next = std::next(place);
    if (place->recording->uses(used)) dropped.push_back(remove(place));
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
