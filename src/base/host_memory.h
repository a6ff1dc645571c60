// How much memory the host has, and how much of it is free.
#pragma once

#include <cstdint>

namespace felsite::base {

struct HostMemory {
  std::uint64_t total = 0;      // of the machine, or of the control group, whichever is less
  std::uint64_t available = 0;  // free, or reclaimed on demand
};

// As Linux reports it; all of the machine's memory where it reports nothing.
HostMemory host_memory();

// Half of the machine's memory: what a run may take by default.
std::uint64_t default_memory_limit();

}  // namespace felsite::base
