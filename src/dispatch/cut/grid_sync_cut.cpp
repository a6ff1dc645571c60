#include "dispatch/cut/grid_sync_cut.h"

#include <algorithm>

#include "ir/walk.h"

namespace felsite::dispatch {
namespace {

using ir::NodeId;
using ir::NodeKind;

// Recursion follows the nesting, which validation bounds.
class Cutter {
 public:
  explicit Cutter(const ir::Program& program)
      : program_(program), holds_(program.nodes().size(), false) {
    mark();
  }

  Cut run() {
    begin_segment();
    body(program_.entry());
    end_segment({});
    return std::move(cut_);
  }

 private:
  // The grid barriers, and everything around one.
  void mark() {
    for (ir::Walk walk(program_, program_.entry()); walk.next();) {
      if (walk.step() != ir::Walk::Step::Leaf || !ir::orders_grid(program_.node(walk.id())))
        continue;
      ++cut_.grid_syncs;
      holds_[walk.id()] = true;
      const auto around = walk.around();
      for (auto outer = around.rbegin(); outer != around.rend() && !holds_[*outer]; ++outer) {
        holds_[*outer] = true;
      }
    }
  }

  CutSegment& current() { return cut_.segments.back(); }
  std::uint32_t number() const { return static_cast<std::uint32_t>(cut_.segments.size() - 1); }

  std::uint32_t begin_segment() {
    cut_.segments.emplace_back();
    current().entry = scopes_;
    current().repeats = repeats_;
    return number();
  }

  // Returns the number of the segment that ended; its successor may not be known yet.
  std::uint32_t end_segment(NextSegment next) {
    current().end = scopes_;
    current().next = next;
    return number();
  }

  void add(NodeId id) {
    std::vector<CutEvent>& events = current().events;
    const NodeId end = program_.node(id).end;
    const bool goes_on = !events.empty() && events.back().kind == CutEvent::Kind::Nodes &&
                         events.back().nodes.end == id;
    if (goes_on) {
      events.back().nodes.end = end;
    } else {
      events.push_back({.kind = CutEvent::Kind::Nodes, .nodes = {id, end}});
    }
  }

  void body(ir::NodeRange range) {
    for (NodeId id = range.begin; id < range.end; id = program_.node(id).end) {
      const ir::Node& node = program_.node(id);
      if (!holds_[id]) {
        // The plan decides the grid, not a segment.
        if (node.kind != NodeKind::IndirectDispatch) add(id);
      } else if (ir::orders_grid(node)) {
        cut_here();
        if (!is_copy(node)) continue;
        add(id);
        current().copy = id;
        cut_here();
      } else if (ir::info(node.kind).branches) {
        fork(id);
      } else {
        const CutScope scope{id, false};
        current().events.push_back({.kind = CutEvent::Kind::Open, .scope = scope});
        scopes_.push_back(scope);
        body(program_.then_body(id));
        scopes_.pop_back();
        current().events.push_back({.kind = CutEvent::Kind::Close});
      }
    }
  }

  void cut_here() {
    const std::uint32_t before = end_segment({});
    cut_.segments[before].next = go_to(begin_segment());
  }

  static NextSegment go_to(std::uint32_t segment) {
    return {.kind = NextSegment::Kind::Jump, .target = segment, .else_target = segment};
  }

  struct Arm {
    std::uint32_t first;
    std::uint32_t last;
  };
  Arm arm(CutScope scope, ir::NodeRange nodes) {
    scopes_.push_back(scope);
    Arm arm{begin_segment(), 0};
    body(nodes);
    scopes_.pop_back();
    arm.last = number();
    current().end = scopes_;
    current().end.push_back(scope);
    return arm;
  }

  void fork(NodeId id) {
    const bool is_loop = program_.node(id).kind == NodeKind::Loop;
    const auto fork = static_cast<std::uint32_t>(cut_.forks.size());
    cut_.forks.push_back({.node = id, .is_loop = is_loop, .choice = 2 * fork});
    if (is_loop) cut_.forks.back().trip = cut_.trip_count++;
    const std::uint32_t before = end_segment({});
    if (is_loop) repeats_.push_back(fork);
    const Arm then = arm({id, false}, program_.then_body(id));
    if (is_loop) repeats_.pop_back();
    std::optional<Arm> otherwise;
    if (!program_.else_body(id).empty()) otherwise = arm({id, true}, program_.else_body(id));
    const std::uint32_t after = begin_segment();
    const std::uint32_t else_target = otherwise ? otherwise->first : after;
    using Kind = NextSegment::Kind;
    cut_.segments[before].next = {is_loop ? Kind::EnterLoop : Kind::Branch, then.first, else_target,
                                  fork};
    cut_.segments[then.last].next =
        is_loop ? NextSegment{Kind::NextTrip, then.first, after, fork} : go_to(after);
    if (otherwise) cut_.segments[otherwise->last].next = go_to(after);
  }

  const ir::Program& program_;
  std::vector<bool> holds_;  // by NodeId
  Cut cut_;
  std::vector<CutScope> scopes_;
  std::vector<std::uint32_t> repeats_;
};

}  // namespace

bool is_copy(const ir::Node& node) {
  const bool has_source = node.kind == NodeKind::AllGather || node.kind == NodeKind::ReduceScatter;
  return has_source && node.ref != node.ref2;
}

Cut cut_at_grid_syncs(const ir::Program& program) { return Cutter(program).run(); }

Cut uncut(const ir::Program& program) {
  Cut cut;
  ir::NodeRange nodes = program.entry();
  if (program.facts().has_indirect_dispatch) ++nodes.begin;  // the grid is decided already
  const auto entry = program.nodes().subspan(nodes.begin, nodes.end - nodes.begin);
  cut.grid_syncs = static_cast<std::uint32_t>(std::ranges::count_if(entry, ir::orders_grid));
  cut.segments.emplace_back();
  if (!nodes.empty()) {
    cut.segments.front().events.push_back({.kind = CutEvent::Kind::Nodes, .nodes = nodes});
  }
  return cut;
}

}  // namespace felsite::dispatch
