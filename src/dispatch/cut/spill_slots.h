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

// Without the limits that the plan keeps anyway.
SpillSpread effective_spread(const GridSyncPlan& plan, const SpillSpread& allowed);

// How many words of an invocation or a workgroup lie in one spill buffer.
std::uint32_t words_per_spill(const SpillSpread& spread, bool per_workgroup, std::uint32_t words);

// Elements of a workgroup buffer that are kept in one buffer, for all workgroups.
struct KeptPart {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};
// No kernel can have many of them: beyond some, each holds more than the spread allows.
std::vector<KeptPart> kept_parts(const ir::BufferDecl& buffer, const SpillSpread& spread);

}  // namespace felsite::dispatch
