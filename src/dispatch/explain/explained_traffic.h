// What moves between host and device, with buffers that stay on the device and segment by segment.
#pragma once

#include "dispatch/explain/explained_plan.h"

namespace felsite::dispatch {

// `flag`: the convergence flag, which begins as zeros whatever the caller gives; kNone if there is
// none.
ExplainedTraffic resident_traffic(const ir::Program& program, const KnownSizes& sizes,
                                  ir::BufferId flag);

// The traffic of the host split, for its own `plan`. Also notes what one launch of each segment
// moves. `visits`: how often an iteration runs each segment; empty where that is unknown.
void add_split_traffic(const GridSyncPlan& plan, const KnownSizes& sizes,
                       const std::vector<std::uint64_t>& visits, std::uint32_t iterations,
                       std::vector<ExplainedSegment>& segments, ExplainedTraffic& traffic);

}  // namespace felsite::dispatch
