#include "dispatch/schedule/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/cost/host_values.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/cut/grid_sync_cut.h"
#include "dispatch/schedule/loop_budget.h"
#include "ir/analysis/effects.h"

namespace felsite::dispatch {
namespace {

using base::unsupported;
using ir::NodeKind;

// The most barriers in the text of one kernel: drivers' compile time grows faster than their
// number.
constexpr std::ptrdiff_t kMaxBarriersInKernel = 16;

bool has_many_barriers(const ir::Program& program) {
  const ir::NodeRange entry = program.entry();
  const auto nodes = program.nodes().subspan(entry.begin, entry.end - entry.begin);
  return std::ranges::count_if(nodes, ir::is_grid_sync) > kMaxBarriersInKernel;
}

// Why the whole grid cannot be one workgroup; empty if it can.
std::string too_much_for_one_workgroup(const ir::Program& program, const Extent3& grid,
                                       const DeviceProfile& device) {
  const ir::NodeRange entry = program.entry();
  const auto nodes = program.nodes().subspan(entry.begin, entry.end - entry.begin);
  if (std::ranges::any_of(nodes, is_copy)) {
    return "a collective copies for all invocations, also for those that have returned";
  }
  const auto& size = program.workgroup_size();
  // In floating point, since a caller may ask for more than 64 bits can count.
  const double groups = double(grid[0]) * grid[1] * grid[2];
  if (groups > 1) {
    const double lanes = groups * size[0] * size[1] * size[2];
    const std::uint32_t room =
        std::min(device.max_workgroup_invocations, device.max_workgroup_size[0]);
    if (lanes > double(room) * kMaxPerLane) {
      return fmt::format("{:.0f} invocations are too many for one workgroup of {}", lanes, room);
    }
    const auto is_shared = [](const ir::BufferDecl& b) {
      return b.access == ir::Access::Workgroup;
    };
    if (std::ranges::any_of(program.buffers(), is_shared)) {
      return "each of several workgroups has its own memory";
    }
    if (program.facts().has_barrier) return "each of several workgroups has its own barriers";
    if (program.facts().has_subgroup_ops) return "each of several workgroups has its own subgroups";
  }
  return {};
}

// Buffers in memory that a kernel of the whole program is bound to, those included that detect
// changes.
std::size_t buffers_of_one_workgroup(const ir::Program& program, const DispatchConfig& config,
                                     const Extent3& grid) {
  const ir::Effects effects = ir::effects_of(program, program.entry());
  std::vector<bool> is_used(program.buffers().size());
  for (const auto* list : {&effects.reads, &effects.writes, &effects.atomics}) {
    for (const ir::BufferId id : *list) is_used[id] = true;
  }
  std::size_t count = program.facts().has_trap ? 1 : 0;
  for (ir::BufferId id = 0; id < is_used.size(); ++id) {
    count += is_used[id] && program.buffer(id).access != ir::Access::Workgroup ? 1 : 0;
  }
  const IterationRule rule = iteration_rule(program, config);
  if (rule.is_repeated()) ++count;
  if (!rule.compares) return count;
  const std::vector<ir::BufferId> evolving = changed_buffers(program);
  const GridSyncOptions options{.one_dimensional = grid[1] == 1 && grid[2] == 1};
  return count + 1 + evolving.size() -
         find_change_reports(program, evolving, options).buffers.size();
}

// A device limits the buffers of one kernel. The kernels of segments may have fewer.
bool has_too_many_buffers(const ir::ValidProgram& program, const DispatchConfig& config,
                          const Extent3& grid, const DeviceProfile& device) {
  // Lowering may add one for loop budgets, and one for lengths.
  constexpr std::size_t kOfLowering = 2;
  const std::size_t whole = buffers_of_one_workgroup(program, config, grid);
  if (device.max_storage_buffers == 0 || whole + kOfLowering <= device.max_storage_buffers) {
    return false;
  }
  const auto plan =
      plan_grid_sync(program, {.many_iterations = is_repeated(config),
                               .report_changes = iteration_rule(program, config).compares,
                               .one_dimensional = grid[1] == 1 && grid[2] == 1});
  if (!plan) return false;
  std::size_t widest = 0;
  for (const GridSegment& segment : plan->segments) {
    widest = std::max(widest, segment.buffers.size());
  }
  return widest < whole;
}

// It was decided that both forms are possible.
RouteChoice cheaper_form(FormEstimates estimates, LoopBudget budget) {
  RouteChoice choice{Route::Resident, "Segments are estimated to be faster than one workgroup."};
  if (estimates.one_workgroup_ns <= estimates.resident_ns) {
    choice = {Route::OneWorkgroup,
              budget == LoopBudget::Suffices
                  ? "One workgroup is estimated to be faster than segments."
                  : "One workgroup is estimated to be faster than segments; should its loops "
                    "exceed the driver's budget, it runs again in segments."};
  }
  choice.estimates = std::move(estimates);
  return choice;
}

}  // namespace

bool kernel_sees_changes(const ir::Program& program, const GridSyncOptions& options) {
  const std::vector<ir::BufferId> evolving = changed_buffers(program);
  std::vector<ir::BufferId> compared;
  std::ranges::set_difference(evolving, find_change_reports(program, evolving, options).buffers,
                              std::back_inserter(compared));
  if (compared.empty()) return true;
  const ir::NodeRange entry = program.entry();
  const auto nodes = program.nodes().subspan(entry.begin, entry.end - entry.begin);
  if (std::ranges::find(nodes, NodeKind::Return, &ir::Node::kind) != nodes.end()) return false;
  return std::ranges::all_of(compared, [&](ir::BufferId id) {
    return values_are_bytes(program.buffer(id), options.fresh_outputs);
  });
}

std::string_view to_string(Route route) {
  switch (route) {
    case Route::Plain:
      return "plain";
    case Route::Native:
      return "native";
    case Route::HostSplit:
      return "host split";
    case Route::Resident:
      return "resident";
    case Route::OneWorkgroup:
      return "one workgroup";
  }
  return "?";
}

bool needs_grid_sync_form(const ir::Program& program, const DispatchConfig& config) {
  const ir::Facts& facts = program.facts();
  return facts.has_grid_sync || facts.has_collectives || is_repeated(config);
}

bool route_depends_on_contents(const ir::Program& program, const DispatchConfig& config,
                               const DeviceProfile& device) {
  if (device.grid_sync || config.grid_sync != GridSync::Automatic ||
      !needs_grid_sync_form(program, config)) {
    return false;
  }
  return std::ranges::any_of(program.exprs(),
                             [&](const ir::Expr& expr) { return is_fixed_input(program, expr); });
}

bool needs_known_grid(const ir::Program& program) {
  return program.facts().has_grid_sync || program.facts().has_collectives;
}

bool changes_own_grid(const ir::Program& program, const DispatchConfig& config) {
  if (!is_repeated(config) || !program.facts().has_indirect_dispatch) return false;
  return std::ranges::binary_search(changed_buffers(program),
                                    program.node(program.entry().begin).ref);
}

DispatchConfig one_iteration(DispatchConfig config) {
  config.fixpoint_iterations.reset();
  config.convergence = {};
  // One kernel for the whole grid would be another one for each grid.
  config.grid_sync = GridSync::Resident;
  return config;
}

bool is_host_split(const ir::Program& program, const DispatchConfig& config) {
  return needs_grid_sync_form(program, config) && config.grid_sync == GridSync::HostSplit;
}

Result<std::optional<RouteChoice>> route_on_any_grid(const ir::Program& program,
                                                     const DispatchConfig& config,
                                                     const DeviceProfile& device) {
  if (!device.grid_sync && config.cooperative) {
    return std::unexpected(
        unsupported("A cooperative dispatch needs a barrier of the whole grid, which the device "
                    "lacks.",
                    "dispatch without `cooperative`.", program.name()));
  }
  if (!needs_grid_sync_form(program, config)) {
    return RouteChoice{Route::Plain, "There is one iteration without a grid barrier."};
  }
  const GridSync asked = config.grid_sync;
  if (asked == GridSync::HostSplit) {
    if (device.allows_host_grid_sync_split) {
      return RouteChoice{Route::HostSplit, "It was asked for."};
    }
    return std::unexpected(unsupported("This backend does not allow the host split.",
                                       "leave the form to the backend.", program.name()));
  }
  if (device.grid_sync) {
    if (asked == GridSync::Automatic) {
      return RouteChoice{Route::Native, "The backend has native grid barriers."};
    }
    return std::unexpected(
        unsupported("This backend has native grid barriers, and no other form on the device.",
                    "leave the form to the backend.", program.name()));
  }
  if (!changes_own_grid(program, config)) return std::nullopt;
  if (asked == GridSync::OneWorkgroup) {
    return std::unexpected(unsupported(
        "Each iteration has a grid of its own, which may be too large for one workgroup.",
        "ask for the resident form, or leave the form to the backend.", program.name()));
  }
  return RouteChoice{Route::Resident,
                     fmt::format("Each iteration has a grid of its own, which the {} reads.",
                                 needs_known_grid(program) ? "host" : "device")};
}

Result<RouteChoice> choose_route(const ir::ValidProgram& program, const DispatchConfig& config,
                                 const Extent3& grid, const DeviceProfile& device,
                                 const RouteFacts& facts) {
  FELSITE_TRY(auto decided, route_on_any_grid(program, config, device));
  if (decided) return *std::move(decided);
  const GridSync asked = config.grid_sync;
  if (asked == GridSync::Resident) return RouteChoice{Route::Resident, "It was asked for."};
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) {
    return RouteChoice{Route::Resident,
                       "The grid is empty: there is nothing to fold into one workgroup."};
  }
  const std::string obstacle = too_much_for_one_workgroup(program, grid, device);
  if (asked == GridSync::OneWorkgroup) {
    if (obstacle.empty()) return RouteChoice{Route::OneWorkgroup, "It was asked for."};
    return std::unexpected(unsupported(
        fmt::format("The grid cannot run as one workgroup: {}.", obstacle),
        "ask for the resident form, or leave the form to the backend.", program.name()));
  }
  if (!obstacle.empty()) {
    return RouteChoice{Route::Resident,
                       fmt::format("Buffers stay on the device; not one workgroup: {}.", obstacle)};
  }
  if (has_many_barriers(program)) {
    return RouteChoice{
        Route::Resident,
        "So many grid barriers in one kernel would take the driver long to compile."};
  }
  if (has_too_many_buffers(program, config, grid, device)) {
    return RouteChoice{Route::Resident,
                       "One kernel would have more storage buffers than the device allows; each "
                       "segment has fewer."};
  }
  const LoopBudget budget = loop_budget(program, config, grid, device, facts);
  if (budget == LoopBudget::IsTooSmall || (budget == LoopBudget::MayNotSuffice && !facts.can_try)) {
    return RouteChoice{Route::Resident,
                       "One workgroup could exceed the driver's loop budget; each segment starts "
                       "with a fresh one."};
  }
  return cheaper_form(
      estimate_forms(
          program, config, grid, device,
          {.lengths = facts.lengths, .contents = facts.contents, .has_int64 = device.int64}),
      budget);
}

}  // namespace felsite::dispatch
