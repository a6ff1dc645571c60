// Walks through a plan on the host: which segment follows which, trip by trip.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dispatch/cost/host_values.h"
#include "felsite/grid_sync.h"

namespace felsite::dispatch {

class GridWalk {
 public:
  // `lengths`: elements of the program's buffers, by BufferId.
  GridWalk(const GridSyncPlan& plan, std::vector<std::uint64_t> lengths, const Extent3& grid);

  // The segment after this one, or none at the end of the iteration. `choices`: what the segments
  // decided, where the host cannot evaluate the control flow itself. Loops must be walked in order,
  // since the walk counts their trips.
  std::optional<std::uint32_t> next(std::uint32_t segment, std::span<const std::uint32_t> choices);
  // The current values of the loop variables.
  std::span<const std::uint32_t> trips() const { return trips_; }

 private:
  // The variables that a fork's expressions are computed from, in the order of their declarations.
  struct Needed {
    ir::VarId variable;
    ir::ExprId value;
  };
  void find_needed();
  void set_trip(const GridFork& fork, std::uint32_t trip);

  const GridSyncPlan& plan_;
  std::vector<std::uint32_t> trips_;
  std::vector<std::uint32_t> ends_;
  std::vector<std::vector<Needed>> needed_;  // by fork
  std::optional<HostValues> values_;         // where the host can resolve the forks
};

// One segment of an iteration whose control flow the host can evaluate.
struct FlatStep {
  std::uint32_t segment = 0;
  std::vector<std::uint32_t> trips;
};

// The segments of one iteration in order, without those that do nothing; none if there are more
// than `most`.
std::optional<std::vector<FlatStep>> flatten(const GridSyncPlan& plan,
                                             std::vector<std::uint64_t> lengths,
                                             const Extent3& grid, std::size_t most);

}  // namespace felsite::dispatch
