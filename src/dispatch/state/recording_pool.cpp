#include "dispatch/state/recording_pool.h"

#include <xxhash.h>

#include "base/guarded.h"

namespace felsite::dispatch {

ir::Fingerprint RecordingKey::hash() const {
  const XXH128_hash_t hash = XXH3_128bits(words_.data(), words_.size() * sizeof words_[0]);
  return {hash.high64, hash.low64};
}

PooledRecording RecordingPool::take(const ir::Fingerprint& key) {
  const std::lock_guard lock(mutex_);
  Idle::Entries taken = idle_.take(key);
  return taken.empty() ? PooledRecording{} : std::move(taken.front().value);
}

void RecordingPool::release(const ir::Fingerprint& key, PooledRecording recording) noexcept {
  const std::uint64_t own_bytes = recording.recorded->own_bytes();
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
  while (take(key).recorded != nullptr) {
  }
}

template <class Used>
void RecordingPool::drop_users_of(const Used& used) {
  Idle::Entries dropped;
  const std::lock_guard lock(mutex_);
  dropped =
      idle_.take_if([&](const Idle::Entry& entry) { return entry.value.recorded->uses(used); });
}

template void RecordingPool::drop_users_of(const Allocation& used);
template void RecordingPool::drop_users_of(const CompiledKernel& used);

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

}  // namespace felsite::dispatch
