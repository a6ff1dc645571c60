// What moves between host and device, on buffers that stay there and segment by segment.
#pragma once

#include "dispatch/explain/explained_plan.h"

namespace felsite::dispatch {

// `flag`: the convergence flag, which begins as zeros whatever the caller gives; kNone: there is
// none.
ExplainedTraffic resident_traffic(const ir::Program& program, const KnownSizes& sizes,
                                  ir::BufferId flag);

// Of the host split: `plan` is cut as it cuts. Also tells of each segment what one launch moves.
// `visits`: how often an iteration comes to each segment; empty where that is not known.
void add_split_traffic(const GridSyncPlan& plan, const KnownSizes& sizes,
                       const std::vector<std::uint64_t>& visits, std::uint32_t iterations,
                       std::vector<ExplainedSegment>& segments, ExplainedTraffic& traffic);

}  // namespace felsite::dispatch
