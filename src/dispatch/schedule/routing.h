// How a program runs on a backend: as one dispatch, or in which form its grid barriers and
// iterations run.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "dispatch/cost/cost_model.h"
#include "felsite/backend.h"
#include "felsite/grid_sync.h"

namespace felsite::dispatch {

enum class Route : std::uint8_t {
  Plain,   // one iteration without a grid barrier: one dispatch
  Native,  // the backend has grid barriers and iterations itself
  HostSplit,
  Resident,
  OneWorkgroup,
};
std::string_view to_string(Route route);

struct RouteChoice {
  Route route = Route::Plain;
  std::string reason;  // a sentence
  // What the forms on the device would cost; absent where there is nothing to choose between.
  std::optional<FormEstimates> estimates{};
};

struct RouteFacts {
  std::span<const std::uint64_t> lengths{};  // elements by BufferId; empty: unknown
  // Bytes by BufferId of inputs; empty where they are not known. Only the choice of the form may
  // depend on them, because a schedule runs again with other bytes.
  std::span<const ByteSpan> contents{};
  // Whether one workgroup may be tried that could exceed the driver's loop budget.
  bool can_try = true;
};

// The most logical invocations of one lane.
inline constexpr double kMaxPerLane = 8;

// The one place that decides. `program` has the workgroup size that runs, `grid` is the one that
// runs. UnsupportedFeature, with the reason and a way out, where a form was asked for that cannot
// be taken, and for what the backend cannot do at all.
Result<RouteChoice> choose_route(const ir::ValidProgram& program, const DispatchConfig& config,
                                 const Extent3& grid, const DeviceProfile& device,
                                 const RouteFacts& facts = {});

// The choices that do not depend on the grid; none where it counts.
Result<std::optional<RouteChoice>> route_on_any_grid(const ir::Program& program,
                                                     const DispatchConfig& config,
                                                     const DeviceProfile& device);

// Whether the choice may depend on RouteFacts::contents.
bool route_depends_on_contents(const ir::Program& program, const DispatchConfig& config,
                               const DeviceProfile& device);

// Whether a program is more than one kernel, or one kernel more than once.
bool needs_grid_sync_form(const ir::Program& program, const DispatchConfig& config);

// Whether a kernel that runs its iterations itself can detect changes: stores report them, or all
// invocations compare values, which requires that equal values are equal bytes.
bool kernel_sees_changes(const ir::Program& program, const GridSyncOptions& options);

// Its segments, and what is kept between them, depend on the grid. Other programs also run on a
// grid that only the device knows.
bool needs_known_grid(const ir::Program& program);

// Each of several iterations has a grid of its own: the program may change the buffer that it reads
// its grid from.
bool changes_own_grid(const ir::Program& program, const DispatchConfig& config);

// Of iterations that the host starts one by one, because it has to read the grid of each.
DispatchConfig one_iteration(DispatchConfig config);

// The host runs the segments, if the route allows it.
bool is_host_split(const ir::Program& program, const DispatchConfig& config);

}  // namespace felsite::dispatch
