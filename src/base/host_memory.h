// How much memory the host has, and how much of it is free.
#pragma once

#include <array>
#include <cstdint>

namespace felsite::base {

struct HostMemory {
  std::uint64_t total = 0;      // of the machine, or of the control group, whichever is less
  std::uint64_t available = 0;  // of that: free, or freed as soon as it is needed
};

// What Linux reports. If it reports nothing: all of the machine's memory.
HostMemory host_memory();

// Half of the machine's memory: the default limit of a run.
std::uint64_t default_memory_limit();

// Of the processor's caches for data, from the first level on, as the C library states them; 0
// where it does not.
std::array<std::uint64_t, 3> host_cache_bytes();

}  // namespace felsite::base
