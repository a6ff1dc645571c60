#include "dispatch/forms/schedule_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/align.h"
#include "base/try.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/forms/kept_sizes.h"

namespace felsite::dispatch {

using ir::BufferId;

namespace {

// A profile states 0 where it does not know.
std::uint64_t or_unlimited(std::uint64_t bytes) { return bytes != 0 ? bytes : UINT64_MAX; }

RangePlace place_of(const ScheduleRequest& request, BufferId id) {
  return request.places.empty() ? RangePlace{} : request.places[id];
}

}  // namespace

ScheduleWriter::ScheduleWriter(const ScheduleRequest& request, const DeviceProfile& device,
                               RouteChoice route)
    : StepWriter(device),
      request_(request),
      grid_(request.grid.value_or(Extent3{1, 1, 1})),
      rule_(iteration_rule(request.program, request.config)),
      limits_{.memory = or_unlimited(device.memory_bytes),
              .binding = or_unlimited(device.max_storage_buffer_bytes)} {
  out().route = std::move(route);
  for (BufferId id = 0; id < request.program.buffers().size(); ++id) {
    const ir::BufferDecl& buffer = request.program.buffer(id);
    const bool is_shared = buffer.access == ir::Access::Workgroup;
    out().buffers.push_back(
        {.kind = is_shared ? PlannedBuffer::Kind::Workgroup : PlannedBuffer::Kind::Caller,
         .bytes = place_of(request, id).start + request.bytes[id],
         .name = buffer.name});
  }
  copies_.resize(request.program.buffers().size());
}

double ScheduleWriter::invocations_of(std::size_t dispatches) const {
  const auto& size = request_.program.workgroup_size();
  double work = static_cast<double>(std::max<std::size_t>(dispatches, 1));
  for (std::size_t axis = 0; axis < 3; ++axis) work *= double(grid_[axis]) * size[axis];
  return work;
}

Result<void> ScheduleWriter::cut(Cut cut) {
  is_whole_ = cut == Cut::Whole;
  const GridSyncOptions options{
      .many_iterations = rule_.is_repeated(),
      .report_changes = rule_.compares,
      .store_choices = cut == Cut::SegmentsWithChoices,
      .one_dimensional = grid_[1] == 1 && grid_[2] == 1,
      .fresh_outputs = request_.fresh_outputs,
      .whole = is_whole_,
      .spread = spread_that_fits(request_.program, grid_, limits_.binding)};
  FELSITE_TRY(plan_, plan_grid_sync(request_.program, options));
  segment_kernels_.assign(plan_.segments.size(), std::nullopt);
  return {};
}

Result<void> ScheduleWriter::add_kept() {
  using Kind = PlannedBuffer::Kind;
  FELSITE_TRY(const auto sizes, size_kept(plan_, grid_, limits_));
  for (const std::uint64_t bytes : sizes.spills) {
    spills_.push_back(add_buffer(Kind::Device, bytes, "spill"));
  }
  for (const std::uint64_t bytes : sizes.workgroup_spills) {
    workgroup_spills_.push_back(add_buffer(Kind::Device, bytes, "workgroup spill"));
  }
  kept_.resize(request_.program.buffers().size());
  for (std::size_t i = 0; i < plan_.kept.size(); ++i) {
    for (const std::uint64_t bytes : sizes.kept[i]) {
      kept_[plan_.kept[i]].push_back(add_buffer(Kind::Device, bytes, "kept memory"));
    }
  }
  shadows_.resize(request_.program.buffers().size());
  if (!rule_.compares) return {};
  for (const BufferId id : plan_.evolving) {
    if (std::ranges::binary_search(plan_.reported, id)) continue;
    shadows_[id] = add_buffer(Kind::Device, words_of(id).bytes, "state before");
  }
  return {};
}

void ScheduleWriter::add_segment_kernels() {
  for (std::uint32_t s = 0; s < plan_.segments.size(); ++s) {
    if (!plan_.segments[s].empty) kernel_of(s, /*with_parameters=*/true);
  }
}

BufferRef ScheduleWriter::callers_buffer(BufferId id) const {
  if (request_.program.buffer(id).access == ir::Access::Workgroup) return {};
  return {id, place_of(request_, id).start, request_.bytes[id]};
}

BufferRef ScheduleWriter::buffer_of(BufferId id) const {
  BufferRef ref = callers_buffer(id);
  if (copies_[id].buffer == BufferRef::kUnbound) return ref;
  ref.buffer = copies_[id].buffer;
  ref.offset = 0;
  return ref;
}

Result<ScheduledStep> ScheduleWriter::copy_step(BufferId id, bool is_in) {
  // Narrow elements may begin and end inside of a word.
  const std::uint64_t unit = ir::info(request_.program.buffer(id).element).bytes < 4 ? 1 : 4;
  const BufferRef range = callers_buffer(id);
  const auto start = static_cast<std::uint32_t>(range.offset / unit);
  const auto count = static_cast<std::uint32_t>(range.bytes / unit);
  const BufferRef memory{id, 0, range.offset + range.bytes};
  const BufferRef copy{copies_[id].buffer, 0, range.bytes};
  const std::array<std::uint32_t, 3> parameters{is_in ? start : 0, is_in ? 0 : start, count};
  return runtime_step(unit == 1 ? GridKernel::CopyBytes : GridKernel::CopyWords,
                      {is_in ? memory : copy, is_in ? copy : memory}, count, parameters);
}

Result<void> ScheduleWriter::copy_ranges_in() {
  for (BufferId id = 0; id < request_.program.buffers().size(); ++id) {
    const RangePlace place = place_of(request_, id);
    if (place.start == 0 && !place.shares_last_word) continue;
    if (request_.bytes[id] == 0) {
      // What is bound for an empty buffer has a few bytes, which must not be those of others.
      copies_[id] = add_buffer(PlannedBuffer::Kind::Device, codegen::kBoundBytesOfEmpty,
                               fmt::format("empty range of {}", request_.program.buffer(id).name));
      continue;
    }
    const std::uint64_t bytes = base::align_up(request_.bytes[id], 4);
    copies_[id] = add_buffer(PlannedBuffer::Kind::Device, bytes,
                             fmt::format("range of {}", request_.program.buffer(id).name));
    if (bytes != request_.bytes[id]) {
      // Past the end of a buffer kernels read zeros, in its last word too.
      FELSITE_TRY(auto clear, runtime_step(GridKernel::Clear, {copies_[id]}, bytes / 4));
      out().prefix.push_back(std::move(clear));
    }
    FELSITE_TRY(auto copy, copy_step(id, /*is_in=*/true));
    out().prefix.push_back(std::move(copy));
  }
  return {};
}

Result<void> ScheduleWriter::copy_ranges_out() {
  for (const BufferId id : changed_buffers(request_.program)) {
    if (copies_[id].buffer == BufferRef::kUnbound || request_.bytes[id] == 0) continue;
    FELSITE_TRY(auto copy, copy_step(id, /*is_in=*/false));
    // Whether the repeated steps run at all is known only later.
    if (!out().repeated.empty()) out().repeated.push_back(copy);
    out().prefix.push_back(std::move(copy));
  }
  return {};
}

BufferRef ScheduleWriter::words_of(BufferId id) const {
  BufferRef words = buffer_of(id);
  words.bytes = (words.bytes + 3) / 4 * 4;
  return words;
}

BufferRef ScheduleWriter::ref_of(const SegmentBuffer& buffer,
                                 const IterationBuffers& iteration) const {
  switch (buffer.kind) {
    case SegmentBuffer::Kind::Program:
      return iteration.flag && buffer.source == rule_.flag ? *iteration.flag
                                                           : buffer_of(buffer.source);
    case SegmentBuffer::Kind::Trips:
      return iteration.trip_words.value_or(BufferRef{});
    case SegmentBuffer::Kind::Choices:
      return iteration.choices.value_or(BufferRef{});
    case SegmentBuffer::Kind::Spill:
      return spills_[buffer.source];
    case SegmentBuffer::Kind::WorkgroupSpill:
      return workgroup_spills_[buffer.source];
    case SegmentBuffer::Kind::Kept:
      return kept_[buffer.source][buffer.part];
    case SegmentBuffer::Kind::Changed:
      return iteration.changed.value_or(BufferRef{});
    case SegmentBuffer::Kind::Before:
    case SegmentBuffer::Kind::Iterations:
      break;  // only in kernels that run their iterations themselves
  }
  return {};
}

std::uint32_t ScheduleWriter::kernel_of(std::uint32_t number, bool with_parameters) {
  std::optional<std::uint32_t>& known = segment_kernels_[number];
  if (known) return *known;
  const GridSegment& segment = plan_.segments[number];
  ScheduledKernel kernel{.program = segment.program};
  const auto trips =
      std::ranges::find(segment.buffers, SegmentBuffer::Kind::Trips, &SegmentBuffer::kind);
  if (with_parameters && trips != segment.buffers.end()) {
    kernel.parameters = static_cast<BufferId>(trips - segment.buffers.begin());
  }
  if (is_whole_) {
    kernel.one_workgroup.emplace();
    kernel.one_workgroup->grid = grid_;
  } else {
    kernel.grid_in_parts = !fits_one_dispatch(grid_, device().workgroups_per_dispatch);
  }
  known = add_kernel(std::move(kernel));
  return *known;
}

ScheduledStep ScheduleWriter::segment(std::uint32_t number, const IterationBuffers& iteration) {
  const GridSegment& segment = plan_.segments[number];
  ScheduledStep step{.kernel = kernel_of(number, !iteration.trip_words)};
  for (BufferId id = 0; id < segment.buffers.size(); ++id) {
    step.buffers.push_back(ref_of(segment.buffers[id], iteration));
    const ir::BufferDecl& buffer = segment.program.buffer(id);
    step.counts.push_back(segment.buffers[id].kind == SegmentBuffer::Kind::Program
                              ? request_.counts[segment.buffers[id].source]
                              : step.buffers.back().bytes / ir::info(buffer.element).bytes);
  }
  if (out().kernels[step.kernel].parameters) {
    step.supplied.assign(iteration.trips.begin(), iteration.trips.end());
  }
  step.grid = grid_;
  if (!is_whole_) step.workgroups = step.grid;
  step.name = request_.name;
  step.is_callers = true;
  if (plan_.segments.size() > 1) {
    step.name += fmt::format(" segment {}", number);
    step.segment = SegmentPlace{number, static_cast<std::uint32_t>(plan_.segments.size())};
  }
  return step;
}

Result<std::vector<ScheduledStep>> ScheduleWriter::comparisons(const BufferRef& changed) {
  std::vector<ScheduledStep> made;
  for (const BufferId id : plan_.evolving) {
    const BufferRef now = words_of(id);
    if (shadows_[id].buffer == BufferRef::kUnbound || now.bytes == 0) continue;
    FELSITE_TRY(auto step, comparison(now, shadows_[id], changed));
    made.push_back(std::move(step));
  }
  return made;
}

std::vector<Extent3> ScheduleWriter::compared_grids() const {
  std::vector<Extent3> grids;
  for (const BufferId id : plan_.evolving) {
    const std::uint64_t words = words_of(id).bytes / 4;
    if (shadows_[id].buffer == BufferRef::kUnbound || words == 0) continue;
    grids.push_back(
        {static_cast<std::uint32_t>((words + kGridKernelSize - 1) / kGridKernelSize), 1, 1});
  }
  return grids;
}

}  // namespace felsite::dispatch
