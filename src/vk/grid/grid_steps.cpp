#include "vk/grid/grid_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/try.h"
#include "dispatch/schedule/kept_sizes.h"
#include "dispatch/telemetry/counters.h"
#include "vk/instance/vulkan_error.h"

namespace felsite::vk {
namespace {

using ir::BufferId;

// The slice with its padding to whole words, which never changes.
BufferSlice as_words(const BufferSlice& slice) {
  BufferSlice words = slice;
  words.bytes = (slice.bytes + 3) / 4 * 4;
  return words;
}

}  // namespace

std::optional<BufferId> GridSteps::flag() const {
  if (convergence() != Convergence::Kind::Flag) return std::nullopt;
  return request_.program.find_buffer(request_.config.convergence.flag);
}

std::vector<std::uint64_t> GridSteps::lengths() const {
  std::vector<std::uint64_t> lengths;
  for (const dispatch::BoundBuffer& buffer : request_.bindings.buffers) {
    lengths.push_back(buffer.count);
  }
  return lengths;
}

std::size_t GridSteps::runs_at_once(std::size_t dispatches) const {
  // A good part of a second on most devices.
  constexpr double kMaxInvocations = std::uint64_t{1} << 28;
  const auto& size = request_.program.workgroup_size();
  double work = static_cast<double>(std::max<std::size_t>(dispatches, 1));
  for (std::size_t axis = 0; axis < 3; ++axis) work *= double(request_.grid[axis]) * size[axis];
  return static_cast<std::size_t>(std::max(kMaxInvocations / std::max(work, 1.0), 1.0));
}

bool GridSteps::has_conditions() const {
  return engine_.device().plan().has(RuntimeFeature::ConditionalRendering);
}

std::uint64_t GridSteps::alignment() const {
  return std::max<std::uint64_t>(engine_.device().snapshot().limits.storage_buffer_alignment, 16);
}

Result<void> GridSteps::cut(bool store_choices) {
  return make_plan({.store_choices = store_choices});
}

Result<void> GridSteps::plan_whole() {
  is_whole_ = true;
  return make_plan({.whole = true});
}

Result<void> GridSteps::make_plan(GridSyncOptions options) {
  options.many_iterations = bound() > 1;
  options.report_changes = compares();
  options.one_dimensional = request_.grid[1] == 1 && request_.grid[2] == 1;
  options.fresh_outputs = request_.fresh_outputs;
  options.words_per_spill = dispatch::spill_words_that_fit(
      request_.program, request_.grid, engine_.device().snapshot().limits.storage_buffer_range);
  FELSITE_TRY(plan_, plan_grid_sync(request_.program, options));
  kernels_.assign(plan_.segments.size(), nullptr);
  return make_kept();
}

Result<SharedBuffer> GridSteps::device_bytes(std::uint64_t bytes, std::string_view what) {
  own_bytes_ += bytes;
  return engine_.memory().make(Place::Device, bytes, {request_.name, what});
}

Result<void> GridSteps::make_kept() {
  const DeviceSnapshot& device = engine_.device().snapshot();
  dispatch::KeptLimits limits{.memory = 0, .binding = device.limits.storage_buffer_range};
  for (const MemoryHeap& heap : device.memory_heaps) {
    limits.memory = std::max(limits.memory, heap.bytes);
  }
  FELSITE_TRY(const auto sizes, dispatch::size_kept(plan_, request_.grid, limits));
  const auto make = [&](std::uint64_t bytes, std::string_view what,
                        SharedBuffer& out) -> Result<void> {
    FELSITE_TRY(out, device_bytes(bytes, what));
    return {};
  };
  spills_.assign(sizes.spills.size(), nullptr);
  for (std::size_t i = 0; i < spills_.size(); ++i) {
    FELSITE_CHECK(make(sizes.spills[i], "spill", spills_[i]));
  }
  if (plan_.group_words != 0) {
    FELSITE_CHECK(make(sizes.workgroup_spill, "workgroup spill", workgroup_spill_));
  }
  kept_.assign(request_.program.buffers().size(), nullptr);
  for (std::size_t i = 0; i < plan_.kept.size(); ++i) {
    FELSITE_CHECK(make(sizes.kept[i], "kept memory", kept_[plan_.kept[i]]));
  }
  shadows_.assign(request_.program.buffers().size(), nullptr);
  if (!compares()) return {};
  for (const BufferId id : plan_.evolving) {
    if (std::ranges::binary_search(plan_.reported, id)) continue;
    const BufferSlice words = as_words(request_.buffers[id]);
    FELSITE_CHECK(make(words.bytes, "state before", shadows_[id]));
  }
  return {};
}

BufferSlice GridSteps::slice_of(const SegmentBuffer& buffer,
                                const IterationBuffers& iteration) const {
  const auto whole = [](const SharedBuffer& b) { return BufferSlice{b, 0, b->bytes()}; };
  switch (buffer.kind) {
    case SegmentBuffer::Kind::Program:
      return iteration.flag && buffer.source == flag() ? *iteration.flag
                                                       : request_.buffers[buffer.source];
    case SegmentBuffer::Kind::Trips:
      return iteration.trip_words.value_or(BufferSlice{});
    case SegmentBuffer::Kind::Choices:
      return iteration.choices.value_or(BufferSlice{});
    case SegmentBuffer::Kind::Spill:
      return whole(spills_[buffer.source]);
    case SegmentBuffer::Kind::WorkgroupSpill:
      return whole(workgroup_spill_);
    case SegmentBuffer::Kind::Kept:
      return whole(kept_[buffer.source]);
    case SegmentBuffer::Kind::Changed:
      return iteration.changed.value_or(BufferSlice{});
    case SegmentBuffer::Kind::Before:
    case SegmentBuffer::Kind::Iterations:
      break;  // only in whole programs
  }
  return {};
}

Result<SharedKernel> GridSteps::kernel_of(std::uint32_t number, bool with_parameters) {
  SharedKernel& known = kernels_[number];
  if (known != nullptr) return known;
  const GridSegment& segment = plan_.segments[number];
  FELSITE_TRY(auto valid, engine_.pipelines().validate(segment.program));
  codegen::Segment lowered(std::move(valid));
  const auto trips =
      std::ranges::find(segment.buffers, SegmentBuffer::Kind::Trips, &SegmentBuffer::kind);
  if (with_parameters && trips != segment.buffers.end()) {
    lowered.parameters = static_cast<BufferId>(trips - segment.buffers.begin());
  }
  if (is_whole_) {
    lowered.one_workgroup.emplace();
    lowered.one_workgroup->grid = request_.grid;
  } else {
    lowered.grid_in_parts =
        !fits_one_dispatch(request_.grid, engine_.device().snapshot().limits.workgroup_count);
  }
  auto kernel = engine_.pipelines().get(lowered);
  if (!kernel) {
    kernel.error().context.segment = number;
    return std::unexpected(std::move(kernel.error()));
  }
  return known = std::move(*kernel);
}

Result<KernelStep> GridSteps::segment(std::uint32_t number, const IterationBuffers& iteration) {
  FELSITE_TRY(auto kernel, kernel_of(number, !iteration.trip_words));
  const GridSegment& segment = plan_.segments[number];
  std::vector<BufferSlice> slices;
  dispatch::BindingPlan bindings;
  bindings.buffers.resize(segment.buffers.size());
  for (BufferId id = 0; id < segment.buffers.size(); ++id) {
    slices.push_back(slice_of(segment.buffers[id], iteration));
    const ir::BufferDecl& buffer = segment.program.buffer(id);
    bindings.buffers[id].count = segment.buffers[id].kind == SegmentBuffer::Kind::Program
                                     ? request_.bindings.buffers[segment.buffers[id].source].count
                                     : slices.back().bytes / ir::info(buffer.element).bytes;
  }
  FELSITE_TRY(auto step, make_kernel_step(std::move(kernel), bindings, slices, request_.grid,
                                          iteration.trips));
  if (is_whole_) step.grid = {1, 1, 1};
  step.name = request_.name;
  step.caller_step = 0;
  if (plan_.segments.size() > 1) {
    step.name += fmt::format(" segment {}", number);
    step.segment = SegmentPlace{number, static_cast<std::uint32_t>(plan_.segments.size())};
  }
  return step;
}

Result<KernelStep> GridSteps::runtime_step(GridKernel which, std::vector<BufferSlice> buffers,
                                           std::uint64_t invocations,
                                           std::span<const std::uint32_t> parameters) {
  const Result<ir::ValidProgram>& program = dispatch::grid_kernel(which);
  if (!program) return std::unexpected(program.error());
  codegen::Segment lowered(*program);
  if (!parameters.empty()) lowered.parameters = 0;
  const std::uint64_t size = program->workgroup_size()[0];
  const std::uint64_t groups = (invocations + size - 1) / size;
  const Extent3 grid{static_cast<std::uint32_t>(groups), 1, 1};
  lowered.grid_in_parts =
      !fits_one_dispatch(grid, engine_.device().snapshot().limits.workgroup_count);
  FELSITE_TRY(auto kernel, engine_.pipelines().get(lowered));
  if (!parameters.empty()) buffers.insert(buffers.begin(), BufferSlice{});
  dispatch::BindingPlan bindings;
  for (const BufferSlice& slice : buffers) {
    bindings.buffers.push_back({.role = ir::Role::InputOutput, .count = slice.bytes / 4});
  }
  FELSITE_TRY(auto step, make_kernel_step(std::move(kernel), bindings, buffers, grid, parameters));
  step.name = program->name();
  return step;
}

Result<std::vector<KernelStep>> GridSteps::comparisons(const BufferSlice& changed) {
  std::vector<KernelStep> made;
  for (const BufferId id : plan_.evolving) {
    if (shadows_[id] == nullptr) continue;
    const BufferSlice now = as_words(request_.buffers[id]);
    const BufferSlice before{shadows_[id], 0, now.bytes};
    if (now.bytes == 0) continue;
    FELSITE_TRY(auto step,
                runtime_step(GridKernel::Compare, {now, before, changed}, now.bytes / 4));
    made.push_back(std::move(step));
  }
  return made;
}

std::vector<Extent3> GridSteps::compared_grids() const {
  std::vector<Extent3> grids;
  for (const BufferId id : plan_.evolving) {
    const std::uint64_t words = as_words(request_.buffers[id]).bytes / 4;
    if (shadows_[id] == nullptr || words == 0) continue;
    const std::uint64_t size = dispatch::kGridKernelSize;
    grids.push_back({static_cast<std::uint32_t>((words + size - 1) / size), 1, 1});
  }
  return grids;
}

std::vector<GridPart> GridSteps::parts_of(const Extent3& grid) const {
  return grid_parts(grid, engine_.device().snapshot().limits.workgroup_count);
}

Result<SharedBuffer> GridSteps::control(std::uint64_t bytes, std::string_view what) {
  own_bytes_ += bytes;
  return engine_.memory().make(Place::Control, bytes, {request_.name, what});
}

std::vector<KernelStep> GridSteps::in_parts(const KernelStep& step) const {
  std::vector<KernelStep> parts;
  for (const GridPart& part : parts_of(step.grid)) {
    KernelStep piece = step;
    piece.grid = part.grid;
    piece.base = part.base;
    piece.is_further_part = !parts.empty();
    parts.push_back(std::move(piece));
  }
  return parts;
}

namespace {

// Adds the steps if the host can resolve the control flow and it is short enough to record; else
// returns false.
Result<bool> add_recorded_walk(Engine& engine, const GridRequest& request, Sequence& sequence) {
  GridSteps steps(engine, request);
  FELSITE_CHECK(steps.cut(/*store_choices=*/false));
  bool too_long = !steps.plan().host_resolvable;
  if (too_long) return false;
  FELSITE_CHECK(add_iterations(steps, sequence, too_long));
  if (!too_long) sequence.own_bytes += steps.own_bytes();
  return !too_long;
}

}  // namespace

Result<void> add_grid_steps(Engine& engine, const GridRequest& request, Sequence& sequence) {
  if (request.route == dispatch::Route::OneWorkgroup) {
    return add_one_workgroup(engine, request, sequence);
  }
  FELSITE_TRY(auto known, add_recorded_walk(engine, request, sequence));
  if (known) return {};
  GridSteps steps(engine, request);
  FELSITE_CHECK(steps.cut(/*store_choices=*/true));
  FELSITE_CHECK(add_device_walk(steps, sequence));
  sequence.own_bytes += steps.own_bytes();
  return {};
}

std::vector<std::uint64_t> segment_times(const Sequence& sequence,
                                         std::span<const std::uint64_t> step_ns) {
  if (step_ns.empty() || !sequence.iterations) return {step_ns.begin(), step_ns.end()};
  std::vector<std::uint64_t> times(sequence.iterations->segments);
  for (std::size_t i = 0; i < step_ns.size(); ++i) {
    const std::size_t prefix = sequence.prefix.size();
    const KernelStep& step = i < prefix ? sequence.prefix[i] : sequence.repeated[i - prefix];
    if (step.caller_step) times[step.segment ? step.segment->index : 0] += step_ns[i];
  }
  return times;
}

Result<IterationsRun> iterations_of(const Recording& recording) {
  const IterationRecord& record = *recording.sequence().iterations;
  IterationsRun run{record.always, record.always_converges};
  const auto word = [&](const BufferSlice& slice) -> Result<std::uint32_t> {
    FELSITE_TRY(auto words, recording.read_words(slice));
    return words.front();
  };
  for (const BufferSlice& slice : record.ran) {
    FELSITE_TRY(const auto ran, word(slice));
    if (ran != 0) ++run.iterations;
  }
  if (record.counted) {
    FELSITE_TRY(const auto counted, word(*record.counted));
    run.iterations += counted;
  }
  if (record.left) {
    FELSITE_TRY(const auto left, recording.read_words(*record.left));
    run.converged = std::ranges::all_of(left, [](std::uint32_t w) { return w == 0; });
  }
  if (record.converged) {
    FELSITE_TRY(const auto converged, word(*record.converged));
    run.converged = converged != 0;
  }
  std::uint64_t launches = std::uint64_t{record.launches_in_iteration} * run.iterations;
  if (record.launches) {
    FELSITE_TRY(const auto counted, word(*record.launches));
    launches += counted;
  }
  dispatch::count(Counter::Launches, launches);
  dispatch::count(Counter::IterationsRun, run.iterations);
  if (run.converged) dispatch::count(Counter::IterationsSkipped, record.bound - run.iterations);
  if (record.segments > 1) {
    dispatch::count(Counter::GridSyncSplits);
    dispatch::count(Counter::GridSyncSegments, record.segments);
    const std::uint64_t points = launches > run.iterations ? launches - run.iterations : 0;
    dispatch::count(Counter::GridSyncPoints, points);
  }
  return run;
}

}  // namespace felsite::vk
