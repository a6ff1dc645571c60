// What all forms of a schedule share: its buffers and kernels, and the steps of its segments.
#pragma once

#include <span>

#include "dispatch/cost/iteration_rule.h"
#include "dispatch/schedule/grid.h"
#include "dispatch/schedule/grid_kernels.h"
#include "dispatch/schedule/grid_walk.h"
#include "dispatch/schedule/kept_sizes.h"
#include "dispatch/schedule/schedule.h"
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

class ScheduleWriter {
 public:
  ScheduleWriter(const ScheduleRequest& request, const DeviceProfile& device, RouteChoice route);

  const ScheduleRequest& request() const { return request_; }
  const Extent3& grid() const { return grid_; }  // of a step whose grid the device reads: 1, 1, 1
  const IterationRule& rule() const { return rule_; }
  const GridSyncPlan& plan() const { return plan_; }
  bool has_conditions() const { return device_.conditional_steps; }
  std::uint64_t alignment() const;
  // How many runs of so many dispatches of the whole grid go into one submission. The number of
  // invocations is bounded for the sake of displays and watchdogs. At least one.
  std::size_t runs_at_once(std::size_t dispatches) const;

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

  BufferRef add_buffer(PlannedBuffer::Kind kind, std::uint64_t bytes, std::string_view what,
                       std::vector<std::uint32_t> constants = {});
  BufferRef add_control(std::uint64_t bytes, std::string_view what) {
    return add_buffer(PlannedBuffer::Kind::Control, bytes, what);
  }
  // Whole words, with padding that never changes.
  BufferRef words_of(ir::BufferId id) const;
  BufferRef buffer_of(ir::BufferId id) const;
  // The caller's own memory, which buffer_of may have replaced by a copy.
  BufferRef callers_buffer(ir::BufferId id) const;
  std::uint32_t add_kernel(ScheduledKernel kernel);
  void begin_with(const BufferRef& target, std::vector<std::uint32_t> words);

  // The step of a segment on the whole grid.
  ScheduledStep segment(std::uint32_t number, const IterationBuffers& iteration);
  // The step of one of the runtime's own kernels, whose first buffer holds the parameters if it has
  // any.
  Result<ScheduledStep> runtime_step(GridKernel which, std::vector<BufferRef> buffers,
                                     std::uint64_t invocations,
                                     std::span<const std::uint32_t> parameters = {});
  // Steps that compare the evolving buffers that no segment reports on with their state before.
  Result<std::vector<ScheduledStep>> comparisons(const BufferRef& changed);
  // The grids of these steps, in order.
  std::vector<Extent3> compared_grids() const;
  // The step cut into parts of one dispatch each, because the device reads the grid of each part
  // separately.
  std::vector<ScheduledStep> in_parts(const ScheduledStep& step) const;
  std::vector<GridPart> parts_of(const Extent3& grid) const;

  Schedule& out() { return out_; }
  Schedule take() { return std::move(out_); }

 private:
  Result<ScheduledStep> copy_step(ir::BufferId id, bool is_in);
  BufferRef ref_of(const SegmentBuffer& buffer, const IterationBuffers& iteration) const;
  std::uint32_t kernel_of(std::uint32_t number, bool with_parameters);

  const ScheduleRequest& request_;
  const DeviceProfile& device_;
  const Extent3 grid_;
  const IterationRule rule_;
  const KeptLimits limits_;
  Schedule out_;
  GridSyncPlan plan_;
  bool is_whole_ = false;
  std::vector<BufferRef> copies_;  // by BufferId; unbound for ranges that are bound themselves
  std::vector<BufferRef> spills_;  // by number
  BufferRef workgroup_spill_;
  std::vector<BufferRef> kept_;     // by BufferId
  std::vector<BufferRef> shadows_;  // by BufferId; unbound for those that are not compared
  std::vector<std::optional<std::uint32_t>> segment_kernels_;  // by segment
  struct RuntimeKernel {
    GridKernel which;
    bool has_parameters;
    bool in_parts;
    std::uint32_t kernel;
  };
  std::vector<RuntimeKernel> runtime_kernels_;
};

// Steps that run only where a word is not zero.
class Gates {
 public:
  explicit Gates(ScheduleWriter& writer) : writer_(writer) {}

  // For an iteration with these steps, all of which have the same condition. Without conditional
  // steps a gate holds a grid for each part of each step, which gate_step copies from the shapes.
  void shape(std::span<const ScheduledStep> iteration, std::uint32_t gates);
  bool by_condition() const { return writer_.has_conditions(); }
  // All gates, which must be closed before each run; absent with conditional steps.
  std::optional<BufferRef> all() const;
  // Opens gate `number` if the word is not zero. Not with conditional steps.
  Result<ScheduledStep> gate_step(const BufferRef& word, std::uint32_t number);
  // Makes the steps depend on the word, or on the gate.
  std::vector<ScheduledStep> behind(std::vector<ScheduledStep> steps, const BufferRef& word,
                                    std::uint32_t number) const;

 private:
  BufferRef gate(std::uint32_t number) const;

  ScheduleWriter& writer_;
  BufferRef shapes_;
  BufferRef gates_;
  std::uint64_t words_ = 0;   // of one gate
  std::uint64_t stride_ = 0;  // bytes
};

// The three forms of a plan on the device. The first is for control flow that the host can resolve:
// `walk` is one iteration of it.
Result<void> write_iterations(ScheduleWriter& writer, std::vector<FlatStep> walk);
Result<void> write_device_walk(ScheduleWriter& writer);
Result<void> write_one_workgroup(ScheduleWriter& writer);

}  // namespace felsite::dispatch
