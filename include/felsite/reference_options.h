// How the reference interpreter runs a program.
#pragma once

#include <cstdint>

namespace felsite {

// The order in which workgroups run. A program whose result depends on it is not deterministic on
// any device; running it in several orders shows that.
enum class WorkgroupOrder : std::uint8_t { Forward, Reversed, Shuffled };

struct ReferenceOptions {
  WorkgroupOrder order = WorkgroupOrder::Forward;
  std::uint64_t seed = 0;             // of the shuffle
  std::uint32_t subgroup_width = 32;  // 1 … 64
  unsigned threads = 0;               // 0: as many as there are cores
  std::uint64_t memory_limit = 0;     // bytes; 0: half of the machine's memory
};

}  // namespace felsite
