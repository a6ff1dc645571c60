#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/forms/schedule_writer.h"
#include "dispatch/schedule/binding_plan.h"

namespace felsite::dispatch {
namespace {

// Most segments of one iteration that are recorded one after the other; beyond that the device
// walks the plan.
constexpr std::size_t kMaxRecordedSegments = 16384;

// On buffers that stay on the device, in segments.
Result<void> write_resident(ScheduleWriter& writer) {
  const ScheduleRequest& request = writer.request();
  if (!request.grid) return write_grids_of_iterations(writer);
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

Result<void> write_form(ScheduleWriter& writer) {
  const Route route = writer.out().route.route;
  if (route == Route::Plain) return write_plain(writer);
  return route == Route::OneWorkgroup ? write_one_workgroup(writer) : write_resident(writer);
}

// What has no grid barriers can have a grid that the device reads.
Result<RouteChoice> route_of(const ScheduleRequest& request, const DeviceProfile& device) {
  if (request.route) return *request.route;
  if (request.grid) {
    return choose_route(request.program, request.config, *request.grid, device,
                        {.lengths = request.counts, .can_try = request.can_try});
  }
  FELSITE_TRY(auto known, route_on_any_grid(request.program, request.config, device));
  const bool is_cut = needs_known_grid(request.program);
  if (known && (!is_cut || known->route != Route::Resident)) return *std::move(known);
  if (!is_cut && request.config.grid_sync != GridSync::OneWorkgroup) {
    return RouteChoice{Route::Resident, "The device reads the grid of each iteration."};
  }
  return std::unexpected(base::unsupported(
      is_cut ? "The program has grid barriers, and only the device knows its grid."
             : "Only the device knows the grid, which may be too large for one workgroup.",
      "give the grid with the dispatch, and take `indirect_dispatch` out of the program.",
      request.program.name()));
}

// What the form itself takes.
Result<void> check_memory(const Schedule& schedule, const ScheduleRequest& request,
                          const DeviceProfile& device) {
  OwnMemory own;
  for (const PlannedBuffer& buffer : schedule.buffers) {
    if (buffer.kind != PlannedBuffer::Kind::Caller) own.add(buffer);
  }
  return own.check(device, "the program's own buffers",
                   fmt::format("to run it in the form `{}`", to_string(schedule.route.route)),
                   "use smaller buffers or a smaller grid, or ask for the host split.",
                   request.program.name());
}

Result<Schedule> make(ScheduleRequest request, const DeviceProfile& device) {
  FELSITE_CHECK(check_config(request.program, request.config));
  if (request.grid) FELSITE_CHECK(check_grid_size(request.program, *request.grid));
  // What is known is the grid of the first one.
  if (changes_own_grid(request.program, request.config)) request.grid.reset();
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
      FELSITE_CHECK(write_form(writer));
      FELSITE_CHECK(writer.copy_ranges_out());
      break;
  }
  FELSITE_CHECK(check_memory(writer.out(), request, device));
  return writer.take();
}

// What can be compiled before the inputs are known: of a program with grid barriers or iterations
// the kernels depend on the grid.
Result<std::vector<ScheduledKernel>> make_kernels(const ir::ValidProgram& program,
                                                  const DispatchConfig& given,
                                                  const DeviceProfile& device) {
  FELSITE_TRY(const auto any_grid, route_on_any_grid(program, given, device));
  const bool has_own_grids = changes_own_grid(program, given) && !is_host_split(program, given);
  const DispatchConfig config = has_own_grids ? one_iteration(given) : given;
  const std::vector<std::uint64_t> unknown(program.buffers().size());
  ScheduleRequest request{.program = program,
                          .config = config,
                          .counts = unknown,
                          .bytes = unknown,
                          .grid = config.grid_override,
                          .fresh_outputs = true,
                          .name = {}};
  DispatchConfig any_form = config;
  if (!config.grid_override) {
    // The form "one workgroup" can be refused because of the grid; all other refusals do not depend
    // on the grid.
    request.grid = Extent3{2, 1, 1};
    if (config.grid_sync == GridSync::OneWorkgroup) any_form.grid_sync = GridSync::Resident;
  }
  FELSITE_TRY(auto route, choose_route(program, any_form, *request.grid, device));
  // A kernel of its own checks a grid that the device reads.
  if (has_own_grids && !needs_known_grid(program)) request.grid.reset();
  ScheduleWriter writer(request, device, route);
  const bool knows_grid = config.grid_override.has_value();
  if (route.route == Route::Plain) {
    FELSITE_CHECK(write_plain(writer));
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
