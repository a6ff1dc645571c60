// Counts for felsite/telemetry.h.
#pragma once

#include <span>

#include "felsite/dispatch.h"
#include "felsite/telemetry.h"

namespace felsite::dispatch {

void count(Counter counter, std::uint64_t by = 1);

// While it is there, dispatches on this thread are parts of another one, which the caller asked
// for: they count what the device does, not what the caller gave and got.
class PartOfDispatch {
 public:
  PartOfDispatch();
  ~PartOfDispatch();
  PartOfDispatch(const PartOfDispatch&) = delete;
  PartOfDispatch& operator=(const PartOfDispatch&) = delete;
};

// What happens to the caller's slots when they are brought to results of these sizes: a slot that
// is there is reused, or moved if its allocation is too small; one that is missing is appended. To
// be called before the slots are touched.
void count_slots(std::span<const Bytes> slots, std::span<const std::uint64_t> sizes);

}  // namespace felsite::dispatch
