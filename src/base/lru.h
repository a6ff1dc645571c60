// Entries by key, the least recently used of which are evicted where there are too many or where
// they take too much. Several entries may have one key. The owner locks.
//
// What leaves is handed to the caller, who destroys it without holding the lock:
//
//   Cache::Entries evicted;
//   const std::lock_guard lock(mutex_);
//   evicted = cache_.add(key, value, bytes);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

namespace felsite::base {

struct LruLimits {
  std::size_t entries = SIZE_MAX;
  std::uint64_t bytes = UINT64_MAX;
};

template <class Key, class Value, class Hash = std::hash<Key>>
class Lru {
 public:
  struct Entry {
    Key key;
    Value value;
    std::uint64_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  using Place = typename Entries::iterator;

  explicit Lru(const LruLimits& limits) : limits_(limits) {}

  // An entry with this key, which becomes the most recently used one; or null.
  Entry* find(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    touch(found->second);
    return &*found->second;
  }

  // An entry that is not in the cache yet. Made without the lock, it is also destroyed without it
  // where there is no memory to add it.
  static Entries make(Key key, Value value, std::uint64_t bytes = 0) {
    Entries made;
    made.push_front({std::move(key), std::move(value), bytes});
    return made;
  }

  // Adds such an entry as the most recently used one, which stays even if it exceeds the limits
  // alone. Gives what was evicted for it. Where there is no memory for it, nothing changes.
  Entries add(Entries& fresh) {
    by_key_.emplace(fresh.front().key, fresh.begin());
    bytes_ += fresh.front().bytes;
    entries_.splice(entries_.begin(), fresh);
    Entries evicted;
    while (entries_.size() > 1 && (entries_.size() > limits_.entries || bytes_ > limits_.bytes)) {
      move_out(std::prev(entries_.end()), evicted);
    }
    return evicted;
  }
  Entries add(Key key, Value value, std::uint64_t bytes = 0) {
    Entries fresh = make(std::move(key), std::move(value), bytes);
    return add(fresh);
  }

  // Removes an entry with this key and gives it. Nothing if there is none.
  Entries take(const Key& key) {
    Entries taken;
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      move_out(found->second, taken);
    }
    return taken;
  }

  // Removes all entries for which `is_wanted(entry)` holds, and gives them.
  template <class IsWanted>
  Entries take_if(IsWanted is_wanted) {
    Entries taken;
    for (Place place = entries_.begin(); place != entries_.end();) {
      const Place next = std::next(place);
      if (is_wanted(std::as_const(*place))) move_out(place, taken);
      place = next;
    }
    return taken;
  }

  Entries take_all() {
    by_key_.clear();
    bytes_ = 0;
    return std::exchange(entries_, {});
  }

  std::size_t size() const { return entries_.size(); }
  std::uint64_t bytes() const { return bytes_; }

 private:
  void touch(Place place) { entries_.splice(entries_.begin(), entries_, place); }

  // To the end of `to`. Needs no memory.
  void move_out(Place place, Entries& to) {
    auto [row, end] = by_key_.equal_range(place->key);
    while (row != end && row->second != place) ++row;
    by_key_.erase(row);
    bytes_ -= place->bytes;
    to.splice(to.end(), entries_, place);
  }

  const LruLimits limits_;
  Entries entries_;  // the most recently used first
  std::unordered_multimap<Key, Place, Hash> by_key_;
  std::uint64_t bytes_ = 0;
};

}  // namespace felsite::base
