// Buffers with fixed contents, shared by all callers that ask for the same bytes, over any backend.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <unordered_map>

#include "felsite/backend.h"

namespace felsite::dispatch {

class StaticUploadCache {
 public:
  // Makes the backend refuse to change or free a buffer, or no longer refuse.
  using Protect = std::function<void(const ResidentHandle& buffer, bool is_protected)>;
  // `budget`: bytes that may be kept although nobody holds them.
  StaticUploadCache(Backend& backend, std::uint64_t budget, Protect protect);

  // All or nothing. What is missing is allocated and uploaded together.
  Result<StaticUploads> acquire(std::string_view domain, std::span<const ByteSpan> payloads);
  // InvalidHandle, and nothing released, if one of them is not held.
  Result<void> release(const StaticUploads& uploads);
  // Forgets everything without freeing it: after a lost device the handles mean nothing.
  void forget();
  // Frees what nobody holds. A backend may call it when an allocation fails, even one that
  // `acquire` asked for, but not while it holds a lock.
  void free_unused();

  struct Figures {
    std::uint64_t bytes = 0;  // held and kept
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
  };
  Figures figures() const;

 private:
  struct Key {
    std::string domain;
    std::uint64_t size = 0;
    std::uint64_t high = 0;
    std::uint64_t low = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string>()(key.domain) ^ key.low;
    }
  };
  struct HandleHash {
    std::size_t operator()(const ResidentHandle& handle) const {
      return (std::size_t{handle.slot} << 32) ^ handle.generation ^ handle.backend;
    }
  };
  struct Entry {
    Key key;
    ResidentHandle handle{};
    std::uint32_t holders = 0;
  };
  using Entries = std::list<Entry>;
  using ByKey = std::unordered_map<Key, Entries::iterator, KeyHash>;
  // What one acquisition takes: an entry for each payload, in the caller's order.
  struct Taken {
    std::vector<Entries::iterator> entries;
    std::vector<Entries::iterator> pinned;  // those that were cached
    Entries fresh;                          // the others, each once; not entered yet
    std::vector<ByteSpan> fresh_bytes;
    bool has_handles = false;  // all fresh entries have one
  };

  Key key_of(std::string_view domain, ByteSpan payload) const;
  void take(Taken& taken, std::string_view domain, std::span<const ByteSpan> payloads);
  Result<void> upload(Taken& taken);
  void enter(Taken& taken);
  void roll_back(Taken& taken);
  StaticUploads result_of(const Taken& taken) const;
  void pin(Entries::iterator entry);
  void unpin(Entries::iterator entry);
  void free_least_recent();
  // Removes the entry and leaves its buffer to the caller.
  ResidentHandle remove(Entries::iterator entry);

  Backend& backend_;
  const std::uint64_t budget_;
  const Protect protect_;
  const std::uint64_t seed_;
  mutable std::recursive_mutex mutex_;  // see free_unused
  Entries held_;
  Entries kept_;  // held by nobody, the most recently used first
  ByKey by_key_;
  std::unordered_map<ResidentHandle, Entries::iterator, HandleHash> by_handle_;
  std::uint64_t held_bytes_ = 0;
  std::uint64_t kept_bytes_ = 0;
  std::uint64_t hits_ = 0;
  std::uint64_t misses_ = 0;
};

}  // namespace felsite::dispatch
