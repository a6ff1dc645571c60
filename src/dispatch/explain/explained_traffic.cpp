#include "dispatch/explain/explained_traffic.h"

#include <algorithm>

#include "ir/analysis/effects.h"

namespace felsite::dispatch {
namespace {

bool touches(const ir::Effects& effects, ir::BufferId id) {
  return std::ranges::binary_search(effects.reads, id) ||
         std::ranges::binary_search(effects.writes, id) ||
         std::ranges::binary_search(effects.atomics, id);
}

}  // namespace

ExplainedTraffic resident_traffic(const ir::Program& program, const KnownSizes& sizes,
                                  ir::BufferId flag) {
  ByteSum up;
  ByteSum down;
  for (ir::BufferId id = 0; id < program.buffers().size(); ++id) {
    const ir::Role role = ir::role_of(program.buffer(id));
    if (ir::takes_caller_bytes(role) && id != flag) up += size_of(program, id, sizes);
    if (ir::gives_result(role)) down += size_of(program, id, sizes);
  }
  ExplainedTraffic traffic;
  traffic.resident_up = up.value();
  traffic.resident_down = down.value();
  return traffic;
}

void add_split_traffic(const GridSyncPlan& plan, const KnownSizes& sizes,
                       const std::vector<std::uint64_t>& visits, std::uint32_t iterations,
                       std::vector<ExplainedSegment>& segments, ExplainedTraffic& traffic) {
  ByteSum all_up;
  ByteSum all_down;
  for (std::uint32_t s = 0; s < plan.segments.size(); ++s) {
    const GridSegment& segment = plan.segments[s];
    if (segment.empty) continue;
    const ir::Effects effects = ir::effects_of(segment.program, segment.program.entry());
    ByteSum up;
    ByteSum down;
    for (ir::BufferId id = 0; id < segment.buffers.size(); ++id) {
      const ir::Role role = ir::role_of(segment.program.buffer(id));
      const ByteSum size = size_of(plan, segment.buffers[id], sizes);
      // A buffer of which a kernel uses only the length is not moved.
      if (ir::takes_caller_bytes(role) && touches(effects, id)) up += size;
      if (ir::gives_result(role)) down += size;
    }
    const std::uint64_t launches = visits.empty() ? 0 : visits[s];
    all_up += up.times(launches);
    all_down += down.times(launches);
    if (s < segments.size()) {
      segments[s].up = up.value();
      segments[s].down = down.value();
    }
  }
  if (visits.empty()) {
    // One sum would be too long to read.
    const ByteCount by_segment{.bytes = {}, .formula = "launches × bytes of each segment"};
    traffic.split_up = traffic.split_down = by_segment;
    traffic.split_up_at_most = traffic.split_down_at_most = by_segment;
    return;
  }
  traffic.split_up = all_up.value();
  traffic.split_down = all_down.value();
  traffic.split_up_at_most = all_up.times(iterations).value();
  traffic.split_down_at_most = all_down.times(iterations).value();
}

}  // namespace felsite::dispatch
