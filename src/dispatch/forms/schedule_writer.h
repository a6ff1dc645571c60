// What all forms of a program share: its buffers, and the steps of its segments.
#pragma once

#include <span>

#include "dispatch/cost/iteration_rule.h"
#include "dispatch/forms/kept_sizes.h"
#include "dispatch/forms/step_writer.h"
#include "dispatch/schedule/grid_walk.h"
#include "felsite/grid_sync.h"

namespace felsite::dispatch {

// What a segment is bound to in one iteration, besides the buffers of the program.
struct IterationBuffers {
  std::optional<BufferRef> changed;      // where it reports changes
  std::optional<BufferRef> flag;         // instead of the program's buffer
  std::span<const std::uint32_t> trips;  // as parameters
  std::optional<BufferRef> trip_words;   // or in memory
  std::optional<BufferRef> choices;
};

class ScheduleWriter : public StepWriter {
 public:
  ScheduleWriter(const ScheduleRequest& request, const DeviceProfile& device, RouteChoice route);

  const ScheduleRequest& request() const { return request_; }
  const Extent3& grid() const { return grid_; }  // of a step whose grid the device reads: 1, 1, 1
  const IterationRule& rule() const { return rule_; }
  const GridSyncPlan& plan() const { return plan_; }
  // Of so many dispatches of the whole grid.
  double invocations_of(std::size_t dispatches) const;

  // Cuts the program at its grid barriers, or makes it one segment that contains them.
  enum class Cut : std::uint8_t { Segments, SegmentsWithChoices, Whole };
  Result<void> cut(Cut cut);
  // Without steps: what to compile.
  void add_segment_kernels();
  // A range that no device can bind, or that ends in a word of others, is copied: kernels work on
  // the copy. Steps before all others, and steps after them, which copy back what may have changed.
  Result<void> copy_ranges_in();
  Result<void> copy_ranges_out();
  // Plans the spills, the other kept memory and the copies for comparisons.
  Result<void> add_kept();

  // Whole words, with padding that never changes.
  BufferRef words_of(ir::BufferId id) const;
  BufferRef buffer_of(ir::BufferId id) const;
  // The caller's own memory, which buffer_of may have replaced by a copy.
  BufferRef callers_buffer(ir::BufferId id) const;

  // The step of a segment on the whole grid.
  ScheduledStep segment(std::uint32_t number, const IterationBuffers& iteration);
  // Steps that compare the evolving buffers that no segment reports on with their state before.
  Result<std::vector<ScheduledStep>> comparisons(const BufferRef& changed);
  // The grids of these steps, in order.
  std::vector<Extent3> compared_grids() const;

 private:
  Result<ScheduledStep> copy_step(ir::BufferId id, bool is_in);
  BufferRef ref_of(const SegmentBuffer& buffer, const IterationBuffers& iteration) const;
  std::uint32_t kernel_of(std::uint32_t number, bool with_parameters);

  const ScheduleRequest& request_;
  const Extent3 grid_;
  const IterationRule rule_;
  const KeptLimits limits_;
  GridSyncPlan plan_;
  bool is_whole_ = false;
  std::vector<BufferRef> copies_;  // by BufferId; unbound for ranges that are bound themselves
  std::vector<BufferRef> spills_;  // by number
  std::vector<BufferRef> workgroup_spills_;
  std::vector<std::vector<BufferRef>> kept_;  // by BufferId: its parts
  std::vector<BufferRef> shadows_;  // by BufferId; unbound for those that are not compared
  std::vector<std::optional<std::uint32_t>> segment_kernels_;  // by segment
};

// The program as one kernel.
Result<void> write_plain(ScheduleWriter& writer);
// The same again and again, where the device reads the grid of each iteration.
Result<void> write_grids_of_iterations(ScheduleWriter& writer);

// The three forms of a plan on the device. The first is for control flow that the host can resolve:
// `walk` is one iteration of it.
Result<void> write_iterations(ScheduleWriter& writer, std::vector<FlatStep> walk);
Result<void> write_device_walk(ScheduleWriter& writer);
Result<void> write_one_workgroup(ScheduleWriter& writer);

}  // namespace felsite::dispatch
