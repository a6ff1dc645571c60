#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/schedule_writer.h"

namespace felsite::dispatch {
namespace {

// Most segments of one iteration that are recorded one after the other; beyond that the device
// walks the plan.
constexpr std::size_t kMaxRecordedSegments = 16384;

// Invocation ids have 32 bits, whatever the device allows.
Extent3 most_workgroups(const DeviceProfile& device, const Extent3& workgroup_size) {
  Extent3 most = device.workgroups_per_dispatch;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint64_t by_ids = (std::uint64_t{1} << 32) / workgroup_size[axis];
    most[axis] = static_cast<std::uint32_t>(std::min<std::uint64_t>(most[axis], by_ids));
  }
  return most;
}

// A grid that the device reads is first checked by a kernel, which replaces one that the device
// cannot run by an empty grid. Gives the words that it writes.
Result<BufferRef> write_indirect_gate(ScheduleWriter& writer, const DeviceProfile& device) {
  const ScheduleRequest& request = writer.request();
  const ir::Node& node = request.program.node(request.program.entry().begin);
  FELSITE_TRY(
      auto program,
      indirect_gate_program(node.extra, most_workgroups(device, request.program.workgroup_size())));
  const BufferRef words = writer.add_control(std::uint64_t{IndirectGateWords::kCount} * 4, "gate");
  // If the step never runs, its gate counts as open.
  writer.begin_with(words, std::vector<std::uint32_t>(IndirectGateWords::kCount));
  const BufferRef source = writer.buffer_of(node.ref);
  writer.out().prefix.push_back({.kernel = writer.add_kernel({.program = std::move(program)}),
                                 .buffers = {source, words},
                                 .counts = {source.bytes / 4, IndirectGateWords::kCount},
                                 .supplied = {},
                                 .name = request.name + " gate"});
  writer.out().indirect_gates.push_back(words);
  return words;
}

// The program as one kernel.
Result<void> write_plain(ScheduleWriter& writer, const DeviceProfile& device) {
  const ScheduleRequest& request = writer.request();
  std::optional<BufferRef> indirect;
  if (!request.grid) {
    FELSITE_TRY(indirect, write_indirect_gate(writer, device));
    indirect->bytes = 12;
  }
  ScheduledKernel kernel{.program = request.program};
  kernel.grid_in_parts = !fits_one_dispatch(writer.grid(), device.workgroups_per_dispatch);
  ScheduledStep step{.kernel = writer.add_kernel(std::move(kernel)),
                     .counts = {request.counts.begin(), request.counts.end()}};
  for (ir::BufferId id = 0; id < request.program.buffers().size(); ++id) {
    step.buffers.push_back(writer.buffer_of(id));
  }
  step.grid = step.workgroups = writer.grid();
  step.indirect = indirect;
  step.name = request.name;
  step.is_callers = true;
  writer.out().prefix.push_back(std::move(step));
  return {};
}

// On buffers that stay on the device, in segments.
Result<void> write_resident(ScheduleWriter& writer) {
  const ScheduleRequest& request = writer.request();
  FELSITE_CHECK(writer.cut(ScheduleWriter::Cut::Segments));
  std::optional<std::vector<FlatStep>> walk;
  if (writer.plan().host_resolvable) {
    walk = flatten(writer.plan(), {request.counts.begin(), request.counts.end()}, writer.grid(),
                   kMaxRecordedSegments);
  }
  if (!walk) FELSITE_CHECK(writer.cut(ScheduleWriter::Cut::SegmentsWithChoices));
  FELSITE_CHECK(writer.add_kept());
  return walk ? write_iterations(writer, std::move(*walk)) : write_device_walk(writer);
}

Result<void> write_form(ScheduleWriter& writer, const DeviceProfile& device) {
  const Route route = writer.out().route.route;
  if (route == Route::Plain) return write_plain(writer, device);
  return route == Route::OneWorkgroup ? write_one_workgroup(writer) : write_resident(writer);
}

// Only one iteration without grid barriers can have a grid that the device reads.
Result<RouteChoice> route_of(const ScheduleRequest& request, const DeviceProfile& device) {
  if (request.grid) {
    return choose_route(
        request.program, request.config, *request.grid, device,
        {.lengths = request.counts, .contents = request.contents, .can_try = request.can_try});
  }
  FELSITE_TRY(auto known, route_on_any_grid(request.program, request.config, device));
  if (known && known->route != Route::Resident && known->route != Route::OneWorkgroup) {
    return *std::move(known);
  }
  return std::unexpected(base::unsupported(
      "The program has grid barriers or iterations, and only the device knows its grid.",
      "give the grid with the dispatch, and take `indirect_dispatch` out of the program.",
      request.program.name()));
}

// What the form itself takes; where the sum overflows, it is too much for any device.
Result<void> check_memory(const Schedule& schedule, const ScheduleRequest& request,
                          const DeviceProfile& device) {
  std::optional<std::uint64_t> own = 0;
  for (const PlannedBuffer& buffer : schedule.buffers) {
    if (buffer.kind != PlannedBuffer::Kind::Caller && own) {
      own = base::checked_sum({*own, buffer.bytes});
    }
  }
  if (device.memory_bytes == 0 || (own && *own <= device.memory_bytes)) return {};
  return std::unexpected(base::with_amounts(
      base::out_of_memory(
          fmt::format("Beside the program's own buffers Felsite needs {} to run it in the form "
                      "`{}`; {} bytes are available.",
                      base::bytes_text(own), to_string(schedule.route.route), device.memory_bytes),
          "use smaller buffers or a smaller grid, or ask for the host split.",
          request.program.name()),
      own.value_or(UINT64_MAX), device.memory_bytes));
}

Result<Schedule> make(const ScheduleRequest& request, const DeviceProfile& device) {
  FELSITE_CHECK(check_config(request.program, request.config));
  if (request.grid) FELSITE_CHECK(check_grid_size(request.program, *request.grid));
  FELSITE_TRY(auto route, route_of(request, device));
  ScheduleWriter writer(request, device, std::move(route));
  switch (writer.out().route.route) {
    case Route::Native:
    case Route::HostSplit:
      break;
    case Route::Plain:
    case Route::Resident:
    case Route::OneWorkgroup:
      FELSITE_CHECK(writer.copy_ranges_in());
      FELSITE_CHECK(write_form(writer, device));
      FELSITE_CHECK(writer.copy_ranges_out());
      break;
  }
  FELSITE_CHECK(check_memory(writer.out(), request, device));
  return writer.take();
}

// What can be compiled before the inputs are known: of a program with grid barriers or iterations
// the kernels depend on the grid.
Result<std::vector<ScheduledKernel>> make_kernels(const ir::ValidProgram& program,
                                                  const DispatchConfig& config,
                                                  const DeviceProfile& device) {
  const std::vector<std::uint64_t> unknown(program.buffers().size());
  ScheduleRequest request{.program = program,
                          .config = config,
                          .counts = unknown,
                          .bytes = unknown,
                          .grid = config.grid_override,
                          .fresh_outputs = true,
                          .can_try = true,
                          .name = {}};
  DispatchConfig any_form = config;
  if (!config.grid_override) {
    // The form "one workgroup" can be refused because of the grid; all other refusals do not depend
    // on the grid.
    request.grid = Extent3{2, 1, 1};
    if (config.grid_sync == GridSync::OneWorkgroup) any_form.grid_sync = GridSync::Resident;
  }
  FELSITE_TRY(auto route,
              choose_route(program, any_form, *request.grid, device, {.can_try = request.can_try}));
  ScheduleWriter writer(request, device, route);
  const bool knows_grid = config.grid_override.has_value();
  if (route.route == Route::Plain) {
    FELSITE_CHECK(write_plain(writer, device));
  } else if (route.route == Route::OneWorkgroup && knows_grid) {
    FELSITE_CHECK(write_one_workgroup(writer));
  } else if (route.route != Route::Native &&
             (knows_grid || config.grid_sync != GridSync::OneWorkgroup)) {
    FELSITE_CHECK(writer.cut(ScheduleWriter::Cut::Segments));
    writer.add_segment_kernels();
  }
  return std::move(writer.out().kernels);
}

}  // namespace

std::optional<std::uint32_t> segment_of(const Schedule& schedule, std::uint32_t kernel) {
  for (const auto* steps : {&schedule.prefix, &schedule.repeated}) {
    const auto found = std::ranges::find(*steps, kernel, &ScheduledStep::kernel);
    if (found != steps->end() && found->segment) return found->segment->index;
  }
  return std::nullopt;
}

Result<Schedule> make_schedule(const ScheduleRequest& request, const DeviceProfile& device) {
  return base::guarded([&] { return make(request, device); });
}

Result<std::vector<ScheduledKernel>> kernels_without_inputs(const ir::ValidProgram& program,
                                                            const DispatchConfig& config,
                                                            const DeviceProfile& device) {
  return base::guarded([&] { return make_kernels(program, config, device); });
}

}  // namespace felsite::dispatch
