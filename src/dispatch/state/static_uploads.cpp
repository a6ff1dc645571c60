#include "dispatch/state/static_uploads.h"

#include <xxhash.h>

#include <chrono>
#include <random>
#include <unordered_set>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"

namespace felsite::dispatch {
namespace {

// Where the system has no randomness, the clock is better than no backend.
std::uint64_t random_seed() {
  auto seed =
      static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  base::best_effort([&] {
    std::random_device device;
    seed = (std::uint64_t{device()} << 32) | device();
  });
  return seed;
}

}  // namespace

// The bytes are not kept for comparison, so nobody must be able to prepare equal hashes: they have
// 128 bits and another seed in each cache.
StaticUploadCache::StaticUploadCache(Backend& backend, std::uint64_t budget, Protect protect)
    : backend_(backend), budget_(budget), protect_(std::move(protect)), seed_(random_seed()) {}

StaticUploadCache::Key StaticUploadCache::key_of(std::string_view domain, ByteSpan payload) const {
  const XXH128_hash_t hash = XXH3_128bits_withSeed(payload.data(), payload.size(), seed_);
  return {std::string(domain), payload.size(), hash.high64, hash.low64};
}

ResidentHandle StaticUploadCache::remove(Entries::iterator entry) {
  const ResidentHandle handle = entry->handle;
  const bool held = entry->holders != 0;
  (held ? held_bytes_ : kept_bytes_) -= entry->key.size;
  by_handle_.erase(handle);
  by_key_.erase(entry->key);
  (held ? held_ : kept_).erase(entry);
  return handle;
}

void StaticUploadCache::free_least_recent() {
  const ResidentHandle handle = remove(std::prev(kept_.end()));
  protect_(handle, false);
  // Fails only where the device is lost, and the buffer with it.
  static_cast<void>(backend_.free_resident(handle));
}

void StaticUploadCache::pin(Entries::iterator entry) {
  if (entry->holders == 0) {
    kept_bytes_ -= entry->key.size;
    held_bytes_ += entry->key.size;
    held_.splice(held_.begin(), kept_, entry);
  }
  ++entry->holders;
}

void StaticUploadCache::unpin(Entries::iterator entry) {
  if (--entry->holders != 0) return;
  held_bytes_ -= entry->key.size;
  kept_bytes_ += entry->key.size;
  kept_.splice(kept_.begin(), held_, entry);
  // Empty buffers fit any budget, but must not accumulate without end.
  constexpr std::size_t kMaxKept = 65536;
  while (kept_bytes_ > budget_ || kept_.size() > kMaxKept) free_least_recent();
}

void StaticUploadCache::take(Taken& taken, std::string_view domain,
                             std::span<const ByteSpan> payloads) {
  ByKey fresh;
  for (const ByteSpan payload : payloads) {
    Key key = key_of(domain, payload);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      taken.entries.push_back(found->second);
      taken.pinned.push_back(found->second);
      pin(found->second);
      continue;
    }
    auto place = fresh.find(key);
    if (place == fresh.end()) {
      taken.fresh.push_front({.key = key});
      taken.fresh_bytes.push_back(payload);
      place = fresh.emplace(std::move(key), taken.fresh.begin()).first;
    }
    ++place->second->holders;
    taken.entries.push_back(place->second);
  }
  taken.fresh.reverse();  // the order of the bytes
}

Result<void> StaticUploadCache::upload(Taken& taken) {
  if (taken.fresh.empty()) return {};
  std::vector<std::uint64_t> sizes;
  for (const ByteSpan payload : taken.fresh_bytes) sizes.push_back(payload.size());
  auto handles = backend_.allocate_resident_many(sizes);
  if (!handles && handles.error().code == ErrorCode::DeviceOutOfMemory) {
    free_unused();
    handles = backend_.allocate_resident_many(sizes);
  }
  if (!handles) return std::unexpected(std::move(handles.error()));
  auto handle = handles->begin();
  for (Entry& entry : taken.fresh) entry.handle = *handle++;
  taken.has_handles = true;
  std::vector<ResidentUpload> uploads;
  for (std::size_t i = 0; i < handles->size(); ++i) {
    uploads.push_back({.buffer = (*handles)[i], .bytes = taken.fresh_bytes[i]});
  }
  return backend_.upload_resident_many(uploads);
}

void StaticUploadCache::enter(Taken& taken) {
  for (auto entry = taken.fresh.begin(); entry != taken.fresh.end(); ++entry) {
    by_handle_.emplace(entry->handle, entry);
    by_key_.emplace(entry->key, entry);
  }
  misses_ += taken.fresh.size();
  hits_ += taken.entries.size() - taken.fresh.size();
  for (const Entry& entry : taken.fresh) {
    held_bytes_ += entry.key.size;
    protect_(entry.handle, true);
  }
  held_.splice(held_.begin(), taken.fresh);
}

// Undoes an acquisition. Allocates nothing.
void StaticUploadCache::roll_back(Taken& taken) {
  for (const Entry& entry : taken.fresh) {
    if (!taken.has_handles) break;
    by_handle_.erase(entry.handle);
    by_key_.erase(entry.key);
    static_cast<void>(backend_.free_resident(entry.handle));
  }
  for (const Entries::iterator entry : taken.pinned) unpin(entry);
}

StaticUploads StaticUploadCache::result_of(const Taken& taken) const {
  StaticUploads result{
      .handles = {}, .cache_hit = taken.pinned.size() == taken.entries.size(), .retained = true};
  std::uint64_t bytes = 0;
  std::unordered_set<ResidentHandle, HandleHash> seen;
  for (const Entries::iterator entry : taken.entries) {
    result.handles.push_back(entry->handle);
    if (!seen.insert(entry->handle).second) continue;
    // They are kept only if all of them fit together.
    result.retained = result.retained && entry->key.size <= budget_ - bytes;
    if (result.retained) bytes += entry->key.size;
  }
  return result;
}

Result<StaticUploads> StaticUploadCache::acquire(std::string_view domain,
                                                 std::span<const ByteSpan> payloads) {
  const std::lock_guard lock(mutex_);
  Taken taken;
  auto acquired = base::guarded([&]() -> Result<StaticUploads> {
    take(taken, domain, payloads);
    FELSITE_CHECK(upload(taken));
    StaticUploads result = result_of(taken);
    enter(taken);
    return result;
  });
  if (!acquired) roll_back(taken);
  return acquired;
}

Result<void> StaticUploadCache::release(const StaticUploads& uploads) {
  const std::lock_guard lock(mutex_);
  std::unordered_map<ResidentHandle, std::uint32_t, HandleHash> wanted;
  for (const ResidentHandle handle : uploads.handles) {
    const auto found = by_handle_.find(handle);
    if (found != by_handle_.end() && ++wanted[handle] <= found->second->holders) continue;
    return std::unexpected(
        base::invalid_handle("A static upload was released that is not held.",
                             "release each acquisition once, on its own backend."));
  }
  for (const ResidentHandle handle : uploads.handles) unpin(by_handle_.find(handle)->second);
  return {};
}

void StaticUploadCache::forget() {
  const std::lock_guard lock(mutex_);
  by_key_.clear();
  by_handle_.clear();
  held_.clear();
  kept_.clear();
  held_bytes_ = kept_bytes_ = 0;
}

void StaticUploadCache::free_unused() {
  const std::lock_guard lock(mutex_);
  while (!kept_.empty()) free_least_recent();
}

StaticUploadCache::Figures StaticUploadCache::figures() const {
  const std::lock_guard lock(mutex_);
  return {.bytes = held_bytes_ + kept_bytes_, .hits = hits_, .misses = misses_};
}

}  // namespace felsite::dispatch
