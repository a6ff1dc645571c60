#include "dispatch/forms/step_writer.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/errors.h"

namespace felsite::dispatch {

std::uint64_t binding_alignment(const DeviceProfile& device) {
  return std::max<std::uint64_t>(device.storage_offset_alignment, 16);
}

std::size_t StepWriter::runs_at_once(double invocations) {
  // A good part of a second on most devices.
  constexpr double kMaxInvocations = std::uint64_t{1} << 28;
  return static_cast<std::size_t>(std::max(kMaxInvocations / std::max(invocations, 1.0), 1.0));
}

BufferRef StepWriter::add_buffer(PlannedBuffer::Kind kind, std::uint64_t bytes,
                                 std::string_view what, std::vector<std::uint32_t> constants) {
  const auto number = static_cast<std::uint32_t>(out_.buffers.size());
  out_.buffers.push_back({kind, bytes, std::string(what), std::move(constants)});
  return {number, 0, bytes};
}

std::uint32_t StepWriter::add_kernel(ScheduledKernel kernel) {
  out_.kernels.push_back(std::move(kernel));
  return static_cast<std::uint32_t>(out_.kernels.size() - 1);
}

void StepWriter::begin_with(const BufferRef& target, std::vector<std::uint32_t> words) {
  out_.initial_words.push_back({target, std::move(words)});
}

void StepWriter::begin_as_zeros(const BufferRef& target) {
  begin_with(target, std::vector<std::uint32_t>(target.bytes / 4));
}

Result<ScheduledStep> StepWriter::runtime_step(GridKernel which, std::vector<BufferRef> buffers,
                                               std::uint64_t invocations,
                                               std::span<const std::uint32_t> parameters) {
  const Result<ir::ValidProgram>& program = grid_kernel(which);
  if (!program) return std::unexpected(program.error());
  const std::uint64_t size = program->workgroup_size()[0];
  const std::uint64_t groups = (invocations + size - 1) / size;
  ScheduledStep step{.grid = {static_cast<std::uint32_t>(groups), 1, 1},
                     .name = std::string(program->name())};
  step.workgroups = step.grid;
  const bool has_parameters = !parameters.empty();
  const bool in_parts = !fits_one_dispatch(step.grid, device_.workgroups_per_dispatch);
  const auto known = std::ranges::find_if(runtime_kernels_, [&](const RuntimeKernel& other) {
    return other.which == which && other.has_parameters == has_parameters &&
           other.in_parts == in_parts;
  });
  if (known != runtime_kernels_.end()) {
    step.kernel = known->kernel;
  } else {
    ScheduledKernel kernel{.program = *program};
    if (has_parameters) kernel.parameters = 0;
    kernel.grid_in_parts = in_parts;
    step.kernel = add_kernel(std::move(kernel));
    runtime_kernels_.push_back({which, has_parameters, in_parts, step.kernel});
  }
  step.buffers = std::move(buffers);
  if (has_parameters) step.buffers.insert(step.buffers.begin(), BufferRef{});
  for (ir::BufferId id = 0; id < step.buffers.size(); ++id) {
    const std::uint64_t element = ir::info(program->buffer(id).element).bytes;
    step.counts.push_back(step.buffers[id].bytes / element);
  }
  step.supplied.assign(parameters.begin(), parameters.end());
  return step;
}

Result<ScheduledStep> StepWriter::comparison(const BufferRef& now, const BufferRef& before,
                                             const BufferRef& changed) {
  return runtime_step(GridKernel::Compare, {now, before, changed}, now.bytes / 4);
}

std::vector<GridPart> StepWriter::parts_of(const Extent3& grid) const {
  return grid_parts(grid, device_.workgroups_per_dispatch);
}

std::vector<ScheduledStep> StepWriter::in_parts(const ScheduledStep& step) const {
  std::vector<ScheduledStep> parts;
  for (const GridPart& part : parts_of(step.workgroups)) {
    ScheduledStep piece = step;
    piece.workgroups = part.grid;
    piece.base = part.base;
    piece.is_further_part = !parts.empty();
    parts.push_back(std::move(piece));
  }
  return parts;
}

void OwnMemory::add(const PlannedBuffer& buffer) {
  if (bytes) bytes = base::checked_sum({*bytes, buffer.bytes});
}

Result<void> OwnMemory::check(const DeviceProfile& device, std::string_view others,
                              std::string_view purpose, std::string fix,
                              std::string_view program) const {
  if (device.memory_bytes == 0 || (bytes && *bytes <= device.memory_bytes)) return {};
  return std::unexpected(base::with_amounts(
      base::out_of_memory(
          fmt::format("Beside {} Felsite needs {} {}; {} bytes are available.", others,
                      base::bytes_text(bytes), purpose, device.memory_bytes),
          std::move(fix), program),
      bytes.value_or(UINT64_MAX), device.memory_bytes));
}

}  // namespace felsite::dispatch
