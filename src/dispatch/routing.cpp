#include "dispatch/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "dispatch/change_reports.h"
#include "ir/effects.h"

namespace felsite::dispatch {
namespace {

using ir::NodeKind;
using Grid = std::array<std::uint32_t, 3>;

// Logical invocations that one lane can take.
constexpr std::uint64_t kMostPerLane = 8;

Error unsupported(const ir::Program& program, std::string message, std::string fix) {
  Error error{.code = ErrorCode::UnsupportedFeature,
              .message = std::move(message),
              .fix = std::move(fix),
              .context = {}};
  error.context.program = program.name();
  return error;
}

// Trips of loops with a grid barrier in them, all in one dispatch if the grid is one workgroup.
// None if only the device knows how many.
std::optional<double> trips_around_barriers(const ir::Program& program) {
  double most = 0;
  struct Open {
    ir::NodeId end;
    std::optional<double> trips;  // so far, of all loops around
  };
  std::vector<Open> open{{program.entry().end, 1.0}};
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    while (open.back().end <= id) open.pop_back();
    const ir::Node& node = program.node(id);
    if (node.kind == NodeKind::Loop) {
      const ir::Expr& from = program.expr(node.args[0]);
      const ir::Expr& to = program.expr(node.args[1]);
      std::optional<double> trips = open.back().trips;
      const bool known = from.kind == ir::ExprKind::Literal && to.kind == ir::ExprKind::Literal;
      if (!known) trips.reset();
      if (trips) *trips *= std::max(double(to.args[0]) - double(from.args[0]), 0.0);
      open.push_back({node.end, trips});
    }
    const bool is_sync =
        node.kind == NodeKind::Barrier && node.ordering() == ir::Ordering::GridSync;
    if (!is_sync) continue;
    if (!open.back().trips) return std::nullopt;
    most = std::max(most, *open.back().trips);
  }
  return most;
}

// Barriers in the text of a kernel: drivers take time to compile it that grows faster than they do.
constexpr std::ptrdiff_t kMostBarriersInKernel = 16;

bool has_many_barriers(const ir::Program& program) {
  const ir::NodeRange entry = program.entry();
  const auto nodes = program.nodes().subspan(entry.begin, entry.end - entry.begin);
  const auto is_sync = [](const ir::Node& node) {
    return node.kind == NodeKind::Barrier && node.ordering() == ir::Ordering::GridSync;
  };
  return std::ranges::count_if(nodes, is_sync) > kMostBarriersInKernel;
}

// A driver's loop budget is for one dispatch: what is split has it anew in each segment.
bool may_exceed_budget(const ir::Program& program, const DeviceProfile& device) {
  if (device.loop_budget == 0 || !program.facts().has_grid_sync) return false;
  const auto trips = trips_around_barriers(program);
  return !trips || *trips > device.loop_budget / 16.0;
}

// Why the whole grid cannot be one workgroup; empty if it can.
std::string too_much_for_one_workgroup(const ir::Program& program, const Grid& grid,
                                       const DeviceProfile& device) {
  const auto& size = program.workgroup_size();
  const std::uint64_t groups = std::uint64_t{grid[0]} * grid[1] * grid[2];
  if (groups > 1) {
    const std::uint64_t lanes = groups * size[0] * size[1] * size[2];
    const std::uint64_t room =
        std::min(device.max_workgroup_invocations, device.max_workgroup_size[0]);
    if (lanes > room * kMostPerLane) {
      return fmt::format("{} invocations are too many for one workgroup of {}", lanes, room);
    }
    const auto is_shared = [](const ir::BufferDecl& b) {
      return b.access == ir::Access::Workgroup;
    };
    if (std::ranges::any_of(program.buffers(), is_shared)) {
      return "several workgroups have memory of their own";
    }
    if (program.facts().has_barrier) return "several workgroups have barriers of their own";
    if (program.facts().has_subgroup_ops) return "several workgroups have subgroups of their own";
  }
  return {};
}

}  // namespace

std::vector<ir::BufferId> changed_buffers(const ir::Program& program) {
  const ir::Effects effects = ir::effects_of(program, program.entry());
  std::vector<ir::BufferId> changed;
  std::ranges::set_union(effects.writes, effects.atomics, std::back_inserter(changed));
  std::erase_if(
      changed, [&](ir::BufferId id) { return program.buffer(id).access == ir::Access::Workgroup; });
  return changed;
}

bool kernel_sees_changes(const ir::Program& program, bool one_dimensional) {
  const std::vector<ir::BufferId> evolving = changed_buffers(program);
  std::vector<ir::BufferId> compared;
  std::ranges::set_difference(evolving,
                              find_change_reports(program, evolving, one_dimensional).buffers,
                              std::back_inserter(compared));
  if (compared.empty()) return true;
  const ir::NodeRange entry = program.entry();
  const auto nodes = program.nodes().subspan(entry.begin, entry.end - entry.begin);
  if (std::ranges::find(nodes, NodeKind::Return, &ir::Node::kind) != nodes.end()) return false;
  return std::ranges::all_of(compared,
                             [&](ir::BufferId id) { return values_are_bytes(program.buffer(id)); });
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
  return program.facts().has_grid_sync || config.fixpoint_iterations.value_or(1) > 1;
}

bool changes_own_grid(const ir::Program& program) {
  if (!program.facts().has_indirect_dispatch) return false;
  const ir::BufferId words = program.node(program.entry().begin).ref;
  const ir::Effects effects = ir::effects_of(program, program.entry());
  return std::ranges::binary_search(effects.writes, words) ||
         std::ranges::binary_search(effects.atomics, words);
}

Result<RouteChoice> choose_route(const ir::Program& program, const DispatchConfig& config,
                                 const Grid& grid, const DeviceProfile& device) {
  if (!device.grid_sync && config.cooperative) {
    return std::unexpected(
        unsupported(program,
                    "A cooperative dispatch needs a barrier of the whole grid, which Vulkan has "
                    "not.",
                    "dispatch without `cooperative`."));
  }
  if (!device.grid_sync && program.facts().has_collectives) {
    return std::unexpected(
        unsupported(program, "The program has a collective, and the Vulkan backend runs one rank.",
                    "run the program on the reference backend."));
  }
  if (!needs_grid_sync_form(program, config)) {
    return RouteChoice{Route::Plain, "There is one pass without a grid barrier."};
  }
  const GridSync asked = config.grid_sync;
  if (asked == GridSync::HostSplit) return RouteChoice{Route::HostSplit, "It was asked for."};
  if (device.grid_sync) {
    if (asked == GridSync::Automatic) {
      return RouteChoice{Route::Native, "The backend has grid barriers itself."};
    }
    return std::unexpected(unsupported(
        program, "This backend has grid barriers itself; of the other forms it has the host split.",
        "ask for the host split, or for none."));
  }
  const bool many_passes = config.fixpoint_iterations.value_or(1) > 1;
  if (many_passes && changes_own_grid(program)) {
    if (asked != GridSync::Automatic) {
      return std::unexpected(unsupported(
          program, "The program changes the buffer that its grid is read from in each pass.",
          "ask for the host split, or leave the form to the backend."));
    }
    return RouteChoice{Route::HostSplit,
                       "Each pass reads its grid from a buffer that the program changes."};
  }
  if (asked == GridSync::Resident) return RouteChoice{Route::Resident, "It was asked for."};
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) {
    return RouteChoice{Route::Resident, "The grid is empty: there is nothing to put together."};
  }
  const std::string obstacle = too_much_for_one_workgroup(program, grid, device);
  if (asked == GridSync::OneWorkgroup) {
    if (obstacle.empty()) return RouteChoice{Route::OneWorkgroup, "It was asked for."};
    return std::unexpected(
        unsupported(program, fmt::format("The grid cannot run as one workgroup: {}.", obstacle),
                    "ask for the resident form, or leave the form to the backend."));
  }
  if (obstacle.empty() && has_many_barriers(program)) {
    return RouteChoice{
        Route::Resident,
        "So many grid barriers in one kernel would take the driver long to compile."};
  }
  if (obstacle.empty() && may_exceed_budget(program, device)) {
    return RouteChoice{
        Route::Resident,
        "One workgroup could exceed the driver's loop budget, which each segment has "
        "anew."};
  }
  if (obstacle.empty()) {
    return RouteChoice{Route::OneWorkgroup,
                       "The whole grid fits one workgroup, whose barriers are native."};
  }
  return RouteChoice{Route::Resident,
                     fmt::format("Buffers stay on the device; not one workgroup: {}.", obstacle)};
}

}  // namespace felsite::dispatch
