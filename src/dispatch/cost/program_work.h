// How much a program does in one iteration, counted on its text: without a device and without
// prices. What cannot be known before it runs is assumed, and the assumptions say how.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dispatch/cost/host_values.h"
#include "felsite/extent.h"
#include "felsite/program.h"

namespace felsite::dispatch {

struct WorkFacts {
  std::span<const std::uint64_t> lengths{};  // elements by BufferId; empty: unknown
  std::span<const ByteSpan> contents{};      // as HostFacts has them
  bool has_int64 = true;                     // 64-bit integers are not pairs of words
};

struct ProgramWork {
  // Of one invocation. An operation is one that a device has itself; an emulated one counts as
  // many.
  double operations = 0;
  double accesses = 0;  // to buffers, also in workgroup memory
  double atomics = 0;
  double trips = 0;  // of loops
  double local_barriers = 0;
  // Values that live across grid barriers and are not computed again: segments keep them in memory.
  double kept_values = 0;
  // Of the whole grid.
  double grid_barriers = 0;
  // Whether the host can resolve the control flow around grid barriers; else the device has to.
  bool is_resolved = true;
  bool ends_with_barrier = false;          // nothing follows the last grid barrier
  std::vector<std::string> assumptions{};  // sentences, each once
};

// All figures are finite, however large a program's loops are.
ProgramWork count_work(const ir::Program& program, const Extent3& grid, const WorkFacts& facts);

// Trips of a loop of which nothing is known.
inline constexpr double kAssumedTrips = 16;
// Figures are not counted beyond this.
inline constexpr double kMostWork = 1e30;

}  // namespace felsite::dispatch
