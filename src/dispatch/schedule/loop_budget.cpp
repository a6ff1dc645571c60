#include "dispatch/schedule/loop_budget.h"

#include <algorithm>
#include <limits>

#include "dispatch/cost/host_values.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/cut/change_reports.h"
#include "ir/walk.h"

namespace felsite::dispatch {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::infinity();

// Trips of loops in one iteration of one invocation.
struct Trips {
  double around_barriers = 0;  // the most around a grid barrier
  double in_all = 0;
};

Trips trips_of(const ir::Program& program, const HostValues& known) {
  Trips found;
  std::vector<double> open{1.0};  // of all enclosing loops together
  for (ir::Walk walk(program, program.entry()); walk.next();) {
    const ir::Node& node = program.node(walk.id());
    if (is_grid_sync(node)) found.around_barriers = std::max(found.around_barriers, open.back());
    if (node.kind != ir::NodeKind::Loop) continue;
    if (walk.step() == ir::Walk::Step::Leave) {
      open.pop_back();
      continue;
    }
    const auto from = known.value(node.args[0]);
    const auto to = known.value(node.args[1]);
    double trips = from && to ? open.back() : kUnknown;
    if (trips != kUnknown) trips *= std::max(double(to->bits) - double(from->bits), 0.0);
    found.in_all += trips + 1;
    open.push_back(trips);
  }
  const auto is_loop = [&](const ir::OpDecl& op) {
    const auto body = program.nodes().subspan(op.body.begin, op.body.end - op.body.begin);
    return std::ranges::find(body, ir::NodeKind::Loop, &ir::Node::kind) != body.end();
  };
  if (std::ranges::any_of(program.ops(), is_loop)) found.in_all = kUnknown;
  return found;
}

// Rounds in which all invocations compare what a kernel that runs its iterations itself has to
// compare.
double rounds_of_comparing(const ir::Program& program, const DispatchConfig& config,
                           const Extent3& grid, std::span<const std::uint64_t> lengths) {
  if (!iteration_rule(program, config).compares) return 0;
  const auto& size = program.workgroup_size();
  const double lanes = double(grid[0]) * grid[1] * grid[2] * size[0] * size[1] * size[2];
  double rounds = 0;
  for (const ir::BufferId id : changed_buffers(program)) {
    rounds += lengths.empty() ? kUnknown : static_cast<double>(lengths[id]) / lanes + 2;
  }
  return rounds;
}

}  // namespace

LoopBudget loop_budget(const ir::Program& program, const DispatchConfig& config,
                       const Extent3& grid, const DeviceProfile& device, const RouteFacts& facts) {
  if (device.loop_budget == 0) return LoopBudget::Suffices;
  // Invocations may be folded into one lane, and the lowering adds loops.
  const double most = device.loop_budget / (2.0 * kMaxPerLane);
  const Trips trips =
      trips_of(program, HostValues(program,
                                   {.lengths = {facts.lengths.begin(), facts.lengths.end()},
                                    .contents = facts.contents},
                                   grid));
  if (trips.around_barriers > most) return LoopBudget::IsTooSmall;
  const double rounds = rounds_of_comparing(program, config, grid, facts.lengths);
  return trips.in_all + rounds <= most ? LoopBudget::Suffices : LoopBudget::MayNotSuffice;
}

}  // namespace felsite::dispatch
