#include "codegen/kernel/trip_counts.h"

#include <algorithm>

namespace felsite::codegen {
namespace {

Word capped(Word cost) { return min(cost, cost.emitter->word(kMaxTrips)); }

}  // namespace

void TripCounts::begin() {
  const std::uint32_t loops = plan_.iterations.counted_loops;
  if (loops == 0) return;
  shared_ = buffers_.workgroup_words(loops, "most_trips");
  for (std::uint32_t i = 0; i < loops; ++i) {
    for (std::vector<Id>* counts : {&counts_, &published_}) {
      counts->push_back(variables_.new_variable(e_.type_word(), true));
      e_.store(counts->back(), e_.word(0).id());
    }
  }
  e_.when(interface_.local_index() == 0U, [&] {
    for (std::uint32_t i = 0; i < loops; ++i) {
      buffers_.publish_workgroup_word(shared_, e_.word(i), e_.word(0));
    }
  });
}

void TripCounts::count(ir::NodeId loop, Word from, Word to) {
  if (plan_.iterations.counted_loops == 0 || plan_.iterations.counted[loop] == 0) return;
  const Word trips = select(from < to, to - from, e_.word(0));
  const Id count = counts_[plan_.iterations.counted[loop] - 1];
  const Word before = e_.load_word(count);
  e_.store(count, select(before < trips, trips, before).id());
}

// A count is published only when it grows, which soon stops.
void TripCounts::share() {
  for (std::uint32_t i = 0; i < plan_.iterations.counted_loops; ++i) {
    const Word count = e_.load_word(counts_[i]);
    const Word before = e_.load_word(published_[i]);
    e_.when(before < count, [&] {
      e_.store(published_[i], count.id());
      const Id place = buffers_.workgroup_word(shared_, e_.word(i));
      const Word scope = e_.word(as_operand(spv::Scope::Workgroup));
      e_.function().atomic(ir::AtomicOp::Max, false, e_.type_word(),
                           {place, scope.id(), e_.word(0).id(), count.id()});
    });
  }
}

// Trips that are counted may become more with the next iteration, so half of the budget is kept for
// it.
Flag TripCounts::fits_another(Word ran) {
  const std::uint32_t budget = std::min(e_.mask().loop_budget, kMaxTrips);
  const Word cost = cost_of_iteration();
  const Word spent = ran * cost;
  if (!cost.is_constant()) return spent <= budget / 2;
  // For the iteration, and before the first one.
  const std::uint32_t kept = cost.constant + plan_.iterations.trips_around;
  return spent <= budget - std::min(kept, budget);
}

Word TripCounts::cost_of_iteration() {
  if (plan_.iterations.one_each) return e_.word(kMaxTrips);
  // Each phase is a trip of a loop over the invocations of a lane.
  const std::uint32_t last_run = plan_.turns > 1 ? plan_.turns + 1 : 0;
  Word cost = capped(cost_of(plan_.nodes, false) + last_run);
  const auto& changed = segment_.one_workgroup->iterations->changed;
  if (changed && program_.buffer(*changed).count == 0) {
    const Word shared = divide(interface_.length(*changed), e_.word(plan_.lanes));
    cost = cost + capped(shared + 2U);
  }
  return capped(cost + plan_.iterations.trips_around);
}

// In a region, or around regions: each of them is for all invocations of a lane.
Word TripCounts::cost_of(ir::NodeRange range, bool in_region) {
  Word cost = e_.word(0);
  for (ir::NodeId id = range.begin; id < range.end; id = program_.node(id).end) {
    const bool is_cut = plan_.regions.has_barrier[id];
    if (in_region || plan_.turns == 1) {
      cost = capped(cost + cost_of_node(id, in_region));
    } else if (is_cut) {
      cost = capped(cost + cost_of_node(id, false) + kTurnLoops * (plan_.turns + 1));
    } else {
      cost = capped(cost + capped(cost_of_node(id, true) * plan_.turns));
    }
  }
  return cost;
}

Word TripCounts::cost_of_node(ir::NodeId id, bool in_region) {
  const std::uint32_t turns = in_region ? 1 : plan_.turns;
  const Word own = capped(e_.word(plan_.iterations.hidden_trips[id]) * turns);
  const Word body = cost_of(program_.then_body(id), in_region);
  if (program_.node(id).kind != ir::NodeKind::Loop) {
    return capped(own + capped(body + cost_of(program_.else_body(id), in_region)));
  }
  return capped(own + capped(trips_of_loop(id) * capped(body + 1U)) + 1U);
}

Word TripCounts::trips_of_loop(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  if (const std::uint32_t counted = plan_.iterations.counted[id]; counted != 0) {
    return capped(buffers_.load_workgroup_word(shared_, e_.word(counted - 1)));
  }
  const std::uint32_t from = program_.expr(node.args[0]).args[0];
  const std::uint32_t to = program_.expr(node.args[1]).args[0];
  return capped(e_.word(to > from ? to - from : 0));
}

}  // namespace felsite::codegen
