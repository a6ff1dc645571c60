// Assigns spill slots: values that are never live together share a slot, and bools share words.
#pragma once

#include <vector>

#include "felsite/grid_sync.h"

namespace felsite::dispatch {

// From the first segment that stores the value to the last that may read it.
struct SpillRange {
  ir::VarId variable = ir::kNone;
  ir::Type type = ir::Type::U32;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  bool per_workgroup = false;
};

struct SpillLayout {
  std::vector<SpilledValue> slots;
  std::uint32_t lane_words = 0;
  std::uint32_t group_words = 0;
};

SpillLayout lay_out_spills(std::vector<SpillRange> ranges);

}  // namespace felsite::dispatch
