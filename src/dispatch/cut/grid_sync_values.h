// Which values a segment of a cut program needs from earlier ones, and where they come from.
//
// A value is recomputed where that gives the same result; else the segment that has it spills it.
// An invocation that returned stays returned: where every return is guarded by a condition that can
// be recomputed, each later segment evaluates it again; else a spilled bit says which invocations
// still run.
#pragma once

#include <vector>

#include "dispatch/cut/grid_sync_cut.h"
#include "ir/analysis/effects.h"

namespace felsite::dispatch {

// Of one segment, each list sorted.
struct SegmentValues {
  std::vector<ir::VarId> recomputed;  // with everything they are computed from
  std::vector<ir::VarId> loaded;
  std::vector<ir::VarId> blank;   // assigned before they are read, so only declared
  std::vector<ir::VarId> stored;  // at its end
};

struct Values {
  std::vector<SegmentValues> segments;
  std::vector<ir::NodeId> declared_at;  // by VarId: its Let
  std::vector<CutScope> scope_of;       // by VarId, of those that are live across a boundary
  std::vector<std::uint32_t> trip_of;   // by VarId: of loop variables that the plan supplies
  std::vector<std::uint32_t> slot_of;   // by VarId: in `slots`
  std::vector<SpilledValue> slots;
  std::uint32_t spill_words = 0;
  std::uint32_t group_words = 0;
  bool tracks_running = false;  // the first slot says which invocations run
  // Ifs that return, which each later segment evaluates again.
  struct Guard {
    ir::NodeId node;
    CutScope scope;
    std::uint32_t segment;
    std::vector<ir::VarId> needs;  // of its own scope, recomputed for it
  };
  std::vector<Guard> guards;
};

// `effects`: by segment. `forks_decide`: segments evaluate the conditions and bounds of the forks
// after them.
Values find_values(const ir::Program& program, const Cut& cut,
                   const std::vector<ir::Effects>& effects, bool forks_decide);

}  // namespace felsite::dispatch
