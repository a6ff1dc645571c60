// The parts of an explanation that come from a cut program.
#pragma once

#include <array>

#include "dispatch/barriers/barrier_plan.h"
#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/byte_sum.h"
#include "dispatch/schedule/schedule.h"
#include "felsite/explain.h"
#include "felsite/grid_sync.h"

namespace felsite::dispatch {

// Sizes as far as they are known.
struct KnownSizes {
  std::vector<std::optional<std::uint64_t>> lengths;  // elements, by BufferId
  std::optional<Extent3> grid;
  Extent3 workgroup_size{};

  std::optional<std::uint64_t> workgroups() const;
  std::optional<std::uint64_t> invocations() const;
};

ByteSum size_of(const GridSyncPlan& plan, const SegmentBuffer& buffer, const KnownSizes& sizes);
ByteSum size_of(const ir::Program& program, ir::BufferId buffer, const KnownSizes& sizes);

// The buffers of a plan as one list, and the positions of a segment's buffers in it. Trips are not
// listed, since they are parameters of a launch, nor is workgroup memory, which ends with its
// workgroup.
class BufferList {
 public:
  BufferList(const GridSyncPlan& plan, const KnownSizes& sizes);
  std::uint32_t place_of(const SegmentBuffer& buffer) const;  // kNone: not in the list
  std::vector<ExplainedBuffer> take() { return std::move(buffers_); }

 private:
  void add(const SegmentBuffer& buffer, ExplainedBuffer explained);
  std::vector<SegmentBuffer> sources_;
  std::vector<ExplainedBuffer> buffers_;
};

// By segment.
std::vector<ExplainedSegment> explain_segments(const GridSyncPlan& plan, const BufferList& buffers);
std::vector<ExplainedPart> explain_order(const GridSyncPlan& plan,
                                         const std::vector<std::uint64_t>& visits);
std::vector<ExplainedSpill> explain_spills(const GridSyncPlan& plan);

// The segments of one iteration in order, including those that do nothing. None where the host
// cannot evaluate the control flow, or where it is too long.
std::optional<std::vector<std::uint32_t>> known_path(const GridSyncPlan& plan,
                                                     const KnownSizes& sizes);

// Where launches of segments wait for others, as the schedule has it. Steps of the runtime itself
// lie between them.
std::vector<ExplainedBarrier> explain_barriers(const Schedule& schedule,
                                               const BarrierPlan& barriers,
                                               const std::vector<ExplainedSegment>& segments);

}  // namespace felsite::dispatch
