// What all forms of a plan on the device share: its buffers, and the kernel steps of its segments.
#pragma once

#include "dispatch/schedule/grid_kernels.h"
#include "felsite/grid_sync.h"
#include "vk/grid/grid_sequence.h"
#include "vk/record/sequence_layout.h"

namespace felsite::vk {

using dispatch::GridKernel;

// What a segment is bound to in one iteration, besides the buffers of the program.
struct IterationBuffers {
  std::optional<BufferSlice> changed;     // where it reports changes
  std::optional<BufferSlice> flag;        // instead of the program's buffer
  std::span<const std::uint32_t> trips;   // as parameters
  std::optional<BufferSlice> trip_words;  // or in memory
  std::optional<BufferSlice> choices;
};

class GridSteps {
 public:
  GridSteps(Engine& engine, const GridRequest& request) : engine_(engine), request_(request) {}

  const GridRequest& request() const { return request_; }
  const GridSyncPlan& plan() const { return plan_; }
  std::uint32_t bound() const { return request_.config.fixpoint_iterations.value_or(1); }
  Convergence::Kind convergence() const { return request_.config.convergence.kind; }
  bool compares() const { return convergence() == Convergence::Kind::Automatic && bound() > 1; }
  std::optional<ir::BufferId> flag() const;
  std::vector<std::uint64_t> lengths() const;
  // How many runs of so many dispatches of the whole grid go into one submission. The number of
  // invocations is bounded for the sake of displays and watchdogs. At least one.
  std::size_t runs_at_once(std::size_t dispatches) const;
  bool has_conditions() const;
  std::uint64_t alignment() const;

  // Makes the plan, and its spill buffers and other kept memory.
  Result<void> cut(bool store_choices);
  // The same for a grid that is one workgroup: nothing is cut, and its kernel is the only segment.
  Result<void> plan_whole();

  // The step of a segment on the whole grid.
  Result<KernelStep> segment(std::uint32_t number, const IterationBuffers& iteration);
  // The step of one of the runtime's own kernels, whose first buffer holds the parameters if it has
  // any.
  Result<KernelStep> runtime_step(GridKernel which, std::vector<BufferSlice> buffers,
                                  std::uint64_t invocations,
                                  std::span<const std::uint32_t> parameters = {});
  // Steps that compare the evolving buffers that no segment reports on with their state before.
  Result<std::vector<KernelStep>> comparisons(const BufferSlice& changed);

  // The grids of these steps, in order.
  std::vector<Extent3> compared_grids() const;

  Result<SharedBuffer> control(std::uint64_t bytes, std::string_view what);
  Result<SharedBuffer> device_bytes(std::uint64_t bytes, std::string_view what);
  // The size of all buffers that were made.
  std::uint64_t own_bytes() const { return own_bytes_; }
  // The step cut into parts of one dispatch each, because the device reads the grid of each part
  // separately.
  std::vector<KernelStep> in_parts(const KernelStep& step) const;
  std::vector<GridPart> parts_of(const Extent3& grid) const;

 private:
  Result<void> make_plan(GridSyncOptions options);
  Result<void> make_kept();
  BufferSlice slice_of(const SegmentBuffer& buffer, const IterationBuffers& iteration) const;
  Result<SharedKernel> kernel_of(std::uint32_t number, bool with_parameters);

  Engine& engine_;
  const GridRequest& request_;
  GridSyncPlan plan_;
  bool is_whole_ = false;
  std::uint64_t own_bytes_ = 0;
  std::vector<SharedBuffer> spills_;  // by number
  SharedBuffer workgroup_spill_;
  std::vector<SharedBuffer> kept_;     // by BufferId
  std::vector<SharedBuffer> shadows_;  // by BufferId; null for those that are not compared
  std::vector<SharedKernel> kernels_;  // by segment
};

// Steps that run only where a word is not zero.
class Gates {
 public:
  explicit Gates(GridSteps& steps) : steps_(steps) {}

  // For an iteration with these steps, all of which have the same condition. Without conditional
  // rendering a gate holds a grid for each part of each step, which gate_step copies from the
  // shapes.
  Result<void> shape(std::span<const KernelStep> iteration, std::uint32_t gates);
  bool by_condition() const { return steps_.has_conditions(); }
  // All gates, which must be closed before each run; absent with conditional rendering.
  std::optional<BufferSlice> all() const;
  // Opens gate `number` if the word is not zero. Not with conditional rendering.
  Result<KernelStep> gate_step(const BufferSlice& word, std::uint32_t number);
  // Makes the steps depend on the word, or on the gate.
  std::vector<KernelStep> behind(std::vector<KernelStep> steps, const BufferSlice& word,
                                 std::uint32_t number) const;

 private:
  BufferSlice gate(std::uint32_t number) const;

  GridSteps& steps_;
  SharedBuffer shapes_;
  SharedBuffer gates_;
  std::uint64_t words_ = 0;   // of one gate
  std::uint64_t stride_ = 0;  // bytes
};

// The three forms of a plan on the device.
Result<void> add_iterations(GridSteps& steps, Sequence& sequence, bool& too_long);
Result<void> add_device_walk(GridSteps& steps, Sequence& sequence);
Result<void> add_one_workgroup(Engine& engine, const GridRequest& request, Sequence& sequence);

}  // namespace felsite::vk
