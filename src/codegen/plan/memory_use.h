// What a program does to memory, as far as the lowering of its accesses depends on it.
#pragma once

#include <cstdint>
#include <vector>

#include "felsite/program.h"

namespace felsite::codegen {

// What index_bounds.cpp knows of an index.
enum class IndexBound : std::uint8_t {
  Unknown,
  Small,   // so far from 2^32 that no address computed from it wraps around
  Proven,  // below the length
};

enum class AccessKind : std::uint8_t {
  Load,           // from a buffer that the kernel does not change
  LoadOfChanged,  // from one that it changes
  Store,
  Atomic,
};

// Who keeps an access within its buffer.
enum class AccessCheck : std::uint8_t { None, Device, Emitted };
// `is_robust`: the device itself gives zero for loads past the end and drops stores there, if the
// index cannot wrap around in its address arithmetic. An atomic's result is not promised even then.
// And drivers (Mesa 22 and 25) give a load the value that the kernel stored at the same index
// before, also where the store was dropped.
constexpr AccessCheck choose_access_check(IndexBound bound, AccessKind kind, bool is_robust) {
  if (bound == IndexBound::Proven) return AccessCheck::None;
  const bool is_promised = kind == AccessKind::Load || kind == AccessKind::Store;
  const bool by_device = bound == IndexBound::Small && is_robust && is_promised;
  return by_device ? AccessCheck::Device : AccessCheck::Emitted;
}

struct MemoryUse {
  std::vector<bool> written;                    // by BufferId
  std::vector<ir::BufferId> workgroup_buffers;  // those in use
  bool invocations_communicate = false;         // there are barriers or atomics
  bool workgroup_memory = false;                // there is some; it may be the lowering's
  bool one_subgroup = false;  // the workgroup is one subgroup: its lanes run together
};

}  // namespace felsite::codegen
