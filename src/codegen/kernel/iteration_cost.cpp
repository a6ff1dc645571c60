// What iterations take of a driver's loop budget.
//
// The driver counts the trips of several lanes that go together: a trip that one of them makes
// counts for all. So a loop costs, each time it is come to, the most trips that any lane has ever
// made in it, and one more for the look that ends it; a loop in a loop, as often as the outer one
// could have come to it. Costs stop at what no budget has.
#include <algorithm>

#include "codegen/kernel/kernel_writer.h"

namespace felsite::codegen {

using ir::NodeKind;

namespace {

constexpr std::uint32_t kMost = UINT16_MAX;  // a product of two such is a word still

Word capped(Word cost) { return min(cost, cost.emitter->word(kMost)); }

}  // namespace

void KernelWriter::begin_counting() {
  if (plan_.iterations.counted_loops == 0) return;
  const std::uint32_t loops = plan_.iterations.counted_loops;
  shared_counts_ = buffers_.workgroup_words(loops, "most_trips");
  for (std::uint32_t i = 0; i < loops; ++i) {
    for (std::vector<Id>* counts : {&counts_, &told_counts_}) {
      counts->push_back(new_variable(e_.type_word(), true));
      e_.store(counts->back(), e_.word(0).id());
    }
  }
  e_.when(interface_.local_index() == 0U, [&] {
    for (std::uint32_t i = 0; i < loops; ++i) tell(shared_counts_, e_.word(i), e_.word(0));
  });
}

void KernelWriter::count_trips(ir::NodeId loop, Word from, Word to) {
  if (plan_.iterations.counted_loops == 0 || plan_.iterations.counted[loop] == 0) return;
  const Word trips = to - from;
  const Id count = counts_[plan_.iterations.counted[loop] - 1];
  const Word before = e_.as_word(e_.load(e_.type_word(), count));
  e_.store(count, select(before < trips, trips, before).id());
}

// Of the function that is left from within them.
void KernelWriter::count_open_loops() {
  if (plan_.iterations.counted_loops == 0) return;
  for (const OpenLoop& loop : open_loops_) count_trips(loop.node, loop.from, loop.index + 1U);
}

// Told only when there is news, which soon there is not.
void KernelWriter::share_counts() {
  for (std::uint32_t i = 0; i < plan_.iterations.counted_loops; ++i) {
    const Word count = e_.as_word(e_.load(e_.type_word(), counts_[i]));
    const Word before = e_.as_word(e_.load(e_.type_word(), told_counts_[i]));
    e_.when(before < count, [&] {
      e_.store(told_counts_[i], count.id());
      const Id place = buffers_.workgroup_word(shared_counts_, e_.word(i));
      const Word scope = e_.word(static_cast<std::uint32_t>(spv::Scope::Workgroup));
      e_.function().atomic(ir::AtomicOp::Max, false, e_.type_word(),
                           {place, scope.id(), e_.word(0).id(), count.id()});
    });
  }
}

// Trips that are counted may become more with the next iteration, so half of the budget is kept for
// it.
Flag KernelWriter::fits_another_iteration(const IterationLoop& loop, Word ran) {
  const std::uint32_t around = trips_around_iteration(segment_, plan_.lanes);
  const std::uint32_t budget = std::min(e_.mask().loop_budget, kMost);
  Word cost = e_.word(kMost);
  if (!plan_.iterations.one_each) cost = capped(cost_of_iteration(loop) + around);
  const Word spent = ran * cost;
  e_.store(iteration_.spent, spent.id());
  if (!cost.is_constant()) return spent <= budget / 2;
  const std::uint32_t kept = cost.constant + around;  // for the iteration, and before the first one
  return spent <= budget - std::min(kept, budget);
}

Word KernelWriter::cost_of_iteration(const IterationLoop& loop) {
  // A run of each invocation of a lane is a loop's trip.
  const std::uint32_t last_run = plan_.turns > 1 ? plan_.turns + 1 : 0;
  const Word cost = capped(cost_of(plan_.nodes, false) + last_run);
  if (!loop.changed || program_.buffer(*loop.changed).count != 0) return cost;
  const Word shared = divide(interface_.length(*loop.changed), e_.word(plan_.lanes));
  return cost + capped(shared + 2U);
}

// In a run, or around runs: each of them is for all invocations of a lane.
Word KernelWriter::cost_of(ir::NodeRange range, bool in_run) {
  Word cost = e_.word(0);
  for (ir::NodeId id = range.begin; id < range.end; id = program_.node(id).end) {
    const bool is_cut = plan_.runs.has_barrier[id];
    if (in_run || plan_.turns == 1) {
      cost = capped(cost + cost_of_node(id, in_run));
    } else if (is_cut) {
      cost = capped(cost + cost_of_node(id, false) + kTurnLoops * (plan_.turns + 1));
    } else {
      cost = capped(cost + capped(cost_of_node(id, true) * plan_.turns));
    }
  }
  return cost;
}

Word KernelWriter::cost_of_node(ir::NodeId id, bool in_run) {
  const std::uint32_t turns = in_run ? 1 : plan_.turns;
  const Word own = capped(e_.word(cost_of_hidden_loops(id)) * turns);
  const Word body = cost_of(program_.then_body(id), in_run);
  if (program_.node(id).kind != NodeKind::Loop) {
    return capped(own + capped(body + cost_of(program_.else_body(id), in_run)));
  }
  return capped(own + capped(trips_of_loop(id) * capped(body + 1U)) + 1U);
}

Word KernelWriter::trips_of_loop(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  if (const std::uint32_t counted = plan_.iterations.counted[id]; counted != 0) {
    return capped(told(shared_counts_, e_.word(counted - 1)));
  }
  const std::uint32_t from = program_.expr(node.args[0]).args[0];
  const std::uint32_t to = program_.expr(node.args[1]).args[0];
  return capped(e_.word((to > from ? to - from : 0) / plan_.loops.unrolled[id]));
}

// Loops that the lowering adds to a statement.
std::uint32_t KernelWriter::cost_of_hidden_loops(ir::NodeId id) const {
  std::uint64_t trips = 0;
  const ir::Node& node = program_.node(id);
  for (const ir::ExprId root : program_.expressions(id)) {
    for (ir::ExprId row = program_.first_row(root); row <= root; ++row) {
      const bool lanes = ir::info(program_.expr(row).kind).purity == ir::Purity::ReadsLanes;
      if (lanes) trips += e_.mask().subgroup_size + 1;
    }
  }
  if (node.kind == NodeKind::AsyncLoad || node.kind == NodeKind::AsyncStore) {
    trips += node.extra + 1ULL;
  }
  if (node.kind == NodeKind::AsyncWait) {
    const auto waited =
        std::ranges::equal_range(copies_, node.name, {}, [](const Copy& c) { return c.tag; });
    for (const Copy& copy : waited) trips += program_.node(copy.node).extra + 1ULL;
  }
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(trips, kMost));
}

}  // namespace felsite::codegen
