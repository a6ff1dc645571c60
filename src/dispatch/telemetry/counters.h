// Counts for felsite/telemetry.h.
#pragma once

#include <span>

#include "felsite/dispatch.h"
#include "felsite/telemetry.h"

namespace felsite::dispatch {

void count(Counter counter, std::uint64_t by = 1);

// While it lives, dispatches on this thread are parts of another one: they count what the device
// does, not the caller's inputs and outputs.
class PartOfDispatch {
 public:
  PartOfDispatch();
  ~PartOfDispatch();
  PartOfDispatch(const PartOfDispatch&) = delete;
  PartOfDispatch& operator=(const PartOfDispatch&) = delete;
};

// Counts what happens to the caller's slots for results of these sizes: an existing slot is reused,
// or moved if its allocation is too small; a missing one is appended. Must be called before the
// slots are touched.
void count_slots(std::span<const Bytes> slots, std::span<const std::uint64_t> sizes);

}  // namespace felsite::dispatch
