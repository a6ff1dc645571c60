// How the reference interpreter runs a program.
#pragma once

#include <cstdint>

namespace felsite {

// The order in which workgroups run. If a program's result depends on it, the program is not
// deterministic on any device; running it in several orders shows that.
enum class WorkgroupOrder : std::uint8_t { Forward, Reversed, Shuffled };

struct ReferenceOptions {
  WorkgroupOrder order = WorkgroupOrder::Forward;
  std::uint64_t seed = 0;             // of the shuffle
  std::uint32_t subgroup_width = 32;  // 1 … 64
  unsigned threads = 0;               // 0: one for each core
  std::uint64_t memory_limit = 0;     // bytes; 0: half of the machine's memory
};

}  // namespace felsite
