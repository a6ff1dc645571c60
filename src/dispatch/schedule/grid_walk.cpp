#include "dispatch/schedule/grid_walk.h"

#include <algorithm>

namespace felsite::dispatch {

using ir::ExprId;
using ir::ExprKind;
using ir::kNone;

GridWalk::GridWalk(const GridSyncPlan& plan, std::vector<std::uint64_t> lengths,
                   const Extent3& grid)
    : plan_(plan), trips_(plan.trip_count, 0), ends_(plan.trip_count, 0) {
  if (!plan.host_resolvable || plan.forks.empty()) return;
  values_.emplace(plan.program, HostFacts{.lengths = std::move(lengths)}, grid);
  find_needed();
}

void GridWalk::find_needed() {
  const ir::Program& program = plan_.program;
  std::vector<ir::NodeId> declared_at(program.vars().size(), kNone);
  for (ir::NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    if (program.node(id).kind == ir::NodeKind::Let) declared_at[program.node(id).ref] = id;
  }
  for (const GridFork& fork : plan_.forks) {
    if (fork.is_loop) declared_at[program.node(fork.node).ref] = kNone;
  }
  std::vector<std::uint32_t> mark(program.vars().size(), 0);
  needed_.resize(plan_.forks.size());
  for (std::uint32_t f = 0; f < plan_.forks.size(); ++f) {
    const auto roots = program.expressions(plan_.forks[f].node);
    std::vector<ExprId> open(roots.begin(), roots.end());
    while (!open.empty()) {
      const ExprId root = open.back();
      open.pop_back();
      for (const ExprId row : program.rows(root)) {
        const ir::Expr& expr = program.expr(row);
        const bool is_new =
            expr.kind == ExprKind::Var && declared_at[expr.ref] != kNone && mark[expr.ref] != f + 1;
        if (!is_new) continue;
        mark[expr.ref] = f + 1;
        const ExprId value = program.node(declared_at[expr.ref]).args[0];
        needed_[f].push_back({expr.ref, value});
        open.push_back(value);
      }
    }
    // A variable is computed from earlier ones.
    std::ranges::sort(needed_[f], {}, &Needed::variable);
  }
}

void GridWalk::set_trip(const GridFork& fork, std::uint32_t trip) {
  trips_[fork.trip] = trip;
  if (values_) values_->set(plan_.program.node(fork.node).ref, ir::literal(trip));
}

std::optional<std::uint32_t> GridWalk::next(std::uint32_t segment,
                                            std::span<const std::uint32_t> choices) {
  const NextSegment& next = plan_.segments[segment].next;
  if (next.kind == NextSegment::Kind::End) return std::nullopt;
  if (next.kind == NextSegment::Kind::Jump) return next.target;
  const GridFork& fork = plan_.forks[next.fork];
  if (next.kind == NextSegment::Kind::NextTrip) {
    // The end is beyond the trip, so incrementing cannot overflow.
    set_trip(fork, trips_[fork.trip] + 1);
    return trips_[fork.trip] < ends_[fork.trip] ? next.target : next.else_target;
  }
  std::array<std::uint32_t, 2> found{};
  if (plan_.host_resolvable) {
    for (const Needed& needed : needed_[next.fork]) {
      values_->set(needed.variable, values_->value(needed.value));
    }
    const auto roots = plan_.program.expressions(fork.node);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      found[i] = static_cast<std::uint32_t>(values_->value(roots[i]).value_or(ir::Literal{}).bits);
    }
  } else {
    std::ranges::copy(choices.subspan(fork.choice, 2), found.begin());
  }
  if (next.kind == NextSegment::Kind::Branch) return found[0] != 0 ? next.target : next.else_target;
  if (found[0] >= found[1]) return next.else_target;
  set_trip(fork, found[0]);
  ends_[fork.trip] = found[1];
  return next.target;
}

std::optional<std::vector<FlatStep>> flatten(const GridSyncPlan& plan,
                                             std::vector<std::uint64_t> lengths,
                                             const Extent3& grid, std::size_t most) {
  GridWalk walk(plan, std::move(lengths), grid);
  std::vector<FlatStep> steps;
  std::size_t passed = 0;
  for (std::optional<std::uint32_t> at = 0; at; at = walk.next(*at, {})) {
    if (++passed > 4 * most) return std::nullopt;
    if (plan.segments[*at].empty) continue;
    if (steps.size() == most) return std::nullopt;
    steps.push_back({*at, {walk.trips().begin(), walk.trips().end()}});
  }
  return steps;
}

}  // namespace felsite::dispatch
