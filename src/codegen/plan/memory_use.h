// What a program does to memory, as far as the lowering of its accesses depends on it.
#pragma once

#include <cstdint>
#include <vector>

#include "felsite/program.h"

namespace felsite::codegen {

// What is known of an index (index_bounds.cpp finds it out).
enum class IndexBound : std::uint8_t {
  Unknown,
  Small,   // so far from 2^32 that no address computed from it wraps around
  Proven,  // below the length
};

// What the whole program does, as far as memory accesses depend on it.
struct MemoryUse {
  std::vector<bool> written;                    // by BufferId
  std::vector<ir::BufferId> workgroup_buffers;  // those in use
  bool invocations_communicate = false;         // there are barriers or atomics
  bool workgroup_memory = false;                // there is some, be it the lowering's own
  bool one_subgroup = false;                    // the workgroup is one: its lanes go together
};

}  // namespace felsite::codegen
