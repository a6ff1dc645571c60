// What survives the grid barriers of a program that was cut: which values a segment takes over, and
// from where.
//
// A value is computed again where that gives the same; else the segment that has it leaves it in a
// spill. An invocation that returned stays returned: where every return is guarded by a condition
// that can be computed again, it is, in each later segment; else the spill says who still runs.
#pragma once

#include <vector>

#include "dispatch/cut/grid_sync_cut.h"
#include "ir/analysis/effects.h"

namespace felsite::dispatch {

// Of one segment, each list sorted.
struct SegmentValues {
  std::vector<ir::VarId> recomputed;  // with all that they are computed from
  std::vector<ir::VarId> loaded;
  std::vector<ir::VarId> blank;   // assigned before they are read: only have to be there
  std::vector<ir::VarId> stored;  // at its end
};

struct Values {
  std::vector<SegmentValues> segments;
  std::vector<ir::NodeId> declared_at;  // by VarId: its Let
  std::vector<CutScope> scope_of;       // by VarId, of those that live across a boundary
  std::vector<std::uint32_t> trip_of;   // by VarId: of a loop's variable that the plan supplies
  std::vector<std::uint32_t> slot_of;   // by VarId: in `slots`
  std::vector<SpilledValue> slots;
  std::uint32_t spill_words = 0;
  std::uint32_t group_words = 0;
  bool tracks_running = false;  // the first slot says who runs
  // Ifs that return, to be asked again in each later segment.
  struct Guard {
    ir::NodeId node;
    CutScope scope;
    std::uint32_t segment;
    std::vector<ir::VarId> needs;  // of the scope itself, to be computed again for it
  };
  std::vector<Guard> guards;
};

// `effects`: of each segment. `forks_decide`: segments evaluate the conditions and bounds of the
// forks behind them.
Values find_values(const ir::Program& program, const Cut& cut,
                   const std::vector<ir::Effects>& effects, bool forks_decide);

}  // namespace felsite::dispatch
