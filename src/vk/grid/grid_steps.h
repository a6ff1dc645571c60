// What all forms of a plan on the device share: its buffers, and the kernel steps of its segments.
#pragma once

#include "dispatch/schedule/grid_kernels.h"
#include "felsite/grid_sync.h"
#include "vk/grid/grid_sequence.h"
#include "vk/record/sequence_layout.h"

namespace felsite::vk {

using dispatch::GridKernel;

// What a segment is bound to beside the program's own buffers, in one iteration.
struct IterationBuffers {
  std::optional<BufferSlice> changed;     // where it tells of changes
  std::optional<BufferSlice> flag;        // in place of the program's own
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
  // How many runs of so many dispatches of the whole grid go into one submission, by the number of
  // invocations: a display or a watchdog must survive it. At least one.
  std::size_t runs_at_once(std::size_t dispatches) const;
  bool has_conditions() const;
  std::uint64_t alignment() const;

  // Makes the plan, and the buffers that it keeps values in.
  Result<void> cut(bool store_choices);
  // The same for a grid that is one workgroup: nothing is cut, and its kernel is the only segment.
  Result<void> put_together();

  // The step of a segment on the whole grid.
  Result<KernelStep> segment(std::uint32_t number, const IterationBuffers& iteration);
  // The step of one of the runtime's own kernels, whose first buffer are the parameters if it has
  // any.
  Result<KernelStep> runtime_step(GridKernel which, std::vector<BufferSlice> buffers,
                                  std::uint64_t invocations,
                                  std::span<const std::uint32_t> parameters = {});
  // Compares the evolving buffers that no segment reports on with what they were before.
  Result<std::vector<KernelStep>> comparisons(const BufferSlice& changed);

  // The grids that these run on, in their order.
  std::vector<std::array<std::uint32_t, 3>> compared_grids() const;

  Result<SharedBuffer> control(std::uint64_t bytes, std::string_view what);
  Result<SharedBuffer> device_bytes(std::uint64_t bytes, std::string_view what);
  // Of all buffers that were made.
  std::uint64_t own_bytes() const { return own_bytes_; }
  // The step in parts that one dispatch takes each: the device reads each part's grid for itself.
  std::vector<KernelStep> in_parts(const KernelStep& step) const;
  std::vector<GridPart> parts_of(const std::array<std::uint32_t, 3>& grid) const;

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
  SharedBuffer group_spill_;
  std::vector<SharedBuffer> kept_;     // by BufferId
  std::vector<SharedBuffer> shadows_;  // by BufferId, of those that are compared
  std::vector<SharedKernel> kernels_;  // by segment
};

// Steps that run only where a word is not zero.
class Gates {
 public:
  explicit Gates(GridSteps& steps) : steps_(steps) {}

  // For an iteration with these steps, all of which go by one word. Without conditional rendering
  // each part of a step has a grid of its own in a gate, which gate_step copies out of the shapes.
  Result<void> shape(std::span<const KernelStep> iteration, std::uint32_t gates);
  bool by_condition() const { return steps_.has_conditions(); }
  // All gates, which must be closed before each run; none for conditions.
  std::optional<BufferSlice> all() const;
  // Opens gate `number` by the word, or leaves it closed. Not for conditions.
  Result<KernelStep> gate_step(const BufferSlice& word, std::uint32_t number);
  // Puts the steps behind the gate, and with them a step that opens the next one.
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

// The three forms.
Result<void> add_iterations(GridSteps& steps, Sequence& sequence, bool& too_long);
Result<void> add_way(GridSteps& steps, Sequence& sequence);
Result<void> add_one_workgroup(Engine& engine, const GridRequest& request, Sequence& sequence);

}  // namespace felsite::vk
