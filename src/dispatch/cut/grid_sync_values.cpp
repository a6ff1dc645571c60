#include "dispatch/cut/grid_sync_values.h"

#include <algorithm>
#include <limits>

#include "dispatch/cut/spill_slots.h"
#include "ir/analysis/uniformity.h"

namespace felsite::dispatch {
namespace {

using ir::ExprId;
using ir::ExprKind;
using ir::kNone;
using ir::NodeId;
using ir::NodeKind;
using ir::VarId;

constexpr std::uint32_t kNoWriter = std::numeric_limits<std::uint32_t>::max();

// A chain of variables may be long, and every later segment would recompute all of it: the plan
// would grow with the square of the program's size. Beyond this many a value is spilled.
constexpr std::uint32_t kMaxRecomputed = 256;
// The same for conditions on which invocations return. Beyond this many, a spilled bit says which
// invocations still run.
constexpr std::size_t kMaxGuards = 64;

// Inclusive numbers of the segments of a loop.
struct Span {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

class Analysis {
 public:
  Analysis(const ir::Program& program, const Cut& cut, const std::vector<ir::Effects>& effects,
           bool forks_decide)
      : program_(program),
        cut_(cut),
        forks_decide_(forks_decide),
        first_writer_(program.buffers().size(), kNoWriter),
        declared_in_(program.vars().size(), kNone),
        limit_(program.vars().size(), 0),
        earliest_(program.vars().size(), 0),
        parts_(program.vars().size(), 1),
        exposed_mark_(program.vars().size(), 0),
        killed_mark_(program.vars().size(), 0),
        assigned_mark_(program.vars().size(), 0),
        closure_mark_(program.vars().size(), 0),
        found_(cut.segments.size()) {
    values_.segments.resize(cut.segments.size());
    values_.declared_at.assign(program.vars().size(), kNone);
    values_.scope_of.resize(program.vars().size());
    values_.trip_of.assign(program.vars().size(), kNone);
    values_.slot_of.assign(program.vars().size(), kNone);
    for (const GridFork& fork : cut.forks) {
      if (fork.is_loop) values_.trip_of[program.node(fork.node).ref] = fork.trip;
    }
    note_writers(effects);
    note_predecessors();
  }

  Values run() {
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) scan(s);
    settle_returns();
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) take_over(s);
    follow_spilled();
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) settle_segment(s);
    assign_slots();
    return std::move(values_);
  }

 private:
  struct Found {
    std::vector<VarId> exposed;   // read here with the value from the beginning
    std::vector<VarId> killed;    // assigned unconditionally before anything reads them
    std::vector<VarId> assigned;  // of another segment, assigned here
    std::vector<VarId> live_in;   // spilled variables
    std::vector<VarId> live_out;
    std::vector<std::uint32_t> before;  // segments that lead here
    std::vector<NodeId> returns;
  };

  void note_writers(const std::vector<ir::Effects>& effects) {
    for (std::uint32_t s = 0; s < effects.size(); ++s) {
      for (const auto* list : {&effects[s].writes, &effects[s].atomics}) {
        for (const ir::BufferId id : *list) first_writer_[id] = std::min(first_writer_[id], s);
      }
    }
  }

  void note_predecessors() {
    loops_.resize(cut_.forks.size());
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      const NextSegment& next = cut_.segments[s].next;
      if (next.kind == NextSegment::Kind::End) continue;
      found_[next.target].before.push_back(s);
      if (next.else_target != next.target) found_[next.else_target].before.push_back(s);
      if (next.kind == NextSegment::Kind::NextTrip) loops_[next.fork] = {next.target, s};
    }
  }

  // Up to which segment memory must not change for a value made in `maker` to be the same in
  // `user`: the user itself, or the end of an enclosing loop that repeats without the maker.
  std::uint32_t horizon(std::uint32_t user, std::uint32_t maker) const {
    for (const std::uint32_t fork : cut_.segments[user].repeats) {
      if (maker < loops_[fork].first) return loops_[fork].last;
    }
    return user;
  }

  bool is_recomputed(VarId v, std::uint32_t user) const {
    return limit_[v] > horizon(user, earliest_[v]);
  }

  // The first segment that may change the expression's value; 0 if it must not be evaluated twice.
  // `earliest` becomes the first segment that one of its operands was made in.
  std::uint32_t limit_of(ExprId root, std::uint32_t& earliest) const {
    std::uint32_t limit = kNoWriter;
    for (const ExprId row : program_.rows(root)) {
      const ir::Expr& expr = program_.expr(row);
      if (expr.kind == ExprKind::Load) {
        const bool shared = program_.buffer(expr.ref).access == ir::Access::Workgroup;
        limit = std::min(limit, shared ? 0 : first_writer_[expr.ref]);
      } else if (expr.kind == ExprKind::Var) {
        if (values_.trip_of[expr.ref] != kNone) {
          // The variable differs from trip to trip.
          earliest = std::min(earliest, declared_in_[expr.ref]);
          continue;
        }
        limit = std::min(limit, limit_[expr.ref]);
        earliest = std::min(earliest, earliest_[expr.ref]);
      } else if (ir::info(expr.kind).purity != ir::Purity::Pure) {
        limit = 0;
      }
    }
    return limit;
  }

  void scan(std::uint32_t s) {
    std::vector<CutScope> scopes = cut_.segments[s].entry;
    // A loop's variable belongs to the first segment of its body.
    for (const std::uint32_t fork : cut_.segments[s].repeats) {
      const VarId variable = program_.node(cut_.forks[fork].node).ref;
      if (declared_in_[variable] == kNone) declared_in_[variable] = s;
    }
    for (const CutEvent& event : cut_.segments[s].events) {
      if (event.kind == CutEvent::Kind::Open) scopes.push_back(event.scope);
      if (event.kind == CutEvent::Kind::Close) scopes.pop_back();
      if (event.kind != CutEvent::Kind::Nodes) continue;
      for (NodeId id = event.nodes.begin; id < event.nodes.end; id = program_.node(id).end) {
        statement(s, id, scopes);
      }
    }
    const NextSegment& next = cut_.segments[s].next;
    const bool decides =
        next.kind == NextSegment::Kind::Branch || next.kind == NextSegment::Kind::EnterLoop;
    if (forks_decide_ && decides) uses(s, cut_.forks[next.fork].node);
    std::ranges::sort(found_[s].killed);
  }

  // A statement of the segment itself, with all that is nested in it.
  void statement(std::uint32_t s, NodeId id, const std::vector<CutScope>& scopes) {
    const CutScope scope = scopes.empty() ? CutScope{} : scopes.back();
    const std::size_t returns_before = found_[s].returns.size();
    for (NodeId n = id; n < program_.node(id).end; ++n) {
      const ir::Node& node = program_.node(n);
      uses(s, n);
      if (node.kind == NodeKind::Return) found_[s].returns.push_back(n);
      const ir::VariableUse use = ir::info(node.kind).variable;
      if (use == ir::VariableUse::Declares) declared_in_[node.ref] = s;
      if (use == ir::VariableUse::Declares && ir::sets_variable(node)) declare(s, n, scope);
      if (use == ir::VariableUse::Assigns) assign(s, n, /*always=*/n == id);
    }
    if (found_[s].returns.size() != returns_before && is_guard(id, scopes)) {
      found_[s].returns.resize(returns_before);
      values_.guards.push_back({id, scope, s, {}});
    }
  }

  void declare(std::uint32_t s, NodeId let, CutScope scope) {
    const ir::Node& node = program_.node(let);
    declared_in_[node.ref] = s;
    values_.declared_at[node.ref] = let;
    values_.scope_of[node.ref] = scope;
    earliest_[node.ref] = s;
    limit_[node.ref] = limit_of(node.args[0], earliest_[node.ref]);
    parts_[node.ref] = parts_of(node.args[0]);
    const bool is_long = parts_[node.ref] > kMaxRecomputed;
    if (program_.var(node.ref).assigned || is_long) limit_[node.ref] = 0;
  }

  // The number of variables that would be recomputed with it, counted once per mention.
  std::uint32_t parts_of(ExprId root) const {
    std::uint32_t parts = 1;
    for (const ExprId row : program_.rows(root)) {
      const ir::Expr& expr = program_.expr(row);
      const bool counts = expr.kind == ExprKind::Var && values_.trip_of[expr.ref] == kNone;
      if (counts) parts = std::min(parts + parts_[expr.ref], kMaxRecomputed + 1);
    }
    return parts;
  }

  bool is_foreign(VarId v, std::uint32_t s) const {
    return declared_in_[v] != s && values_.trip_of[v] == kNone;
  }

  void uses(std::uint32_t s, NodeId id) {
    for (const ExprId row : program_.rows_of_node(id)) {
      const ir::Expr& expr = program_.expr(row);
      if (expr.kind == ExprKind::Var && is_foreign(expr.ref, s)) expose(s, expr.ref);
    }
  }

  void expose(std::uint32_t s, VarId v) {
    if (killed_mark_[v] == s + 1 || exposed_mark_[v] == s + 1) return;
    exposed_mark_[v] = s + 1;
    found_[s].exposed.push_back(v);
  }

  void assign(std::uint32_t s, NodeId id, bool always) {
    const VarId v = program_.node(id).ref;
    if (!is_foreign(v, s)) return;
    if (assigned_mark_[v] != s + 1) {
      assigned_mark_[v] = s + 1;
      found_[s].assigned.push_back(v);
    }
    if (!always || exposed_mark_[v] == s + 1 || killed_mark_[v] == s + 1) return;
    // Invocations that skipped the assignment have returned, and need the value no more.
    killed_mark_[v] = s + 1;
    found_[s].killed.push_back(v);
  }

  // An If that always returns, on a condition that every later segment can evaluate again.
  bool is_guard(NodeId id, const std::vector<CutScope>& scopes) const {
    const ir::Node& node = program_.node(id);
    if (node.kind != NodeKind::If || node.extra != node.end || program_.then_body(id).empty()) {
      return false;
    }
    NodeId last = id + 1;
    while (program_.node(last).end != node.end) last = program_.node(last).end;
    if (program_.node(last).kind != NodeKind::Return) return false;
    const auto in_fork = [&](const CutScope& scope) {
      const NodeKind kind = program_.node(scope.node).kind;
      return ir::info(kind).branches;
    };
    if (std::ranges::any_of(scopes, in_fork)) return false;
    std::uint32_t earliest = 0;
    return limit_of(node.args[0], earliest) >= cut_.segments.size();
  }

  // Returns in a last segment need not be remembered.
  void settle_returns() {
    for (std::uint32_t s = 0; s < cut_.segments.size(); ++s) {
      const bool is_last = cut_.segments[s].next.kind == NextSegment::Kind::End;
      if (!is_last && !found_[s].returns.empty()) values_.tracks_running = true;
    }
    if (values_.guards.size() > kMaxGuards) values_.tracks_running = true;
    if (values_.tracks_running) values_.guards.clear();
    for (Values::Guard& guard : values_.guards) {
      next_closure();
      for (const VarId v : variables_of(program_.node(guard.node).args[0])) {
        add_closure(v, guard.needs);
      }
      std::ranges::sort(guard.needs);
    }
  }

  std::vector<VarId> variables_of(ExprId root) const {
    std::vector<VarId> variables;
    for (const ExprId row : program_.rows(root)) {
      const ir::Expr& expr = program_.expr(row);
      const bool counts = expr.kind == ExprKind::Var && values_.trip_of[expr.ref] == kNone;
      if (counts) variables.push_back(expr.ref);
    }
    return variables;
  }

  void next_closure() { ++closure_; }
  // The variable with all that it is computed from.
  void add_closure(VarId v, std::vector<VarId>& out) {
    std::vector<VarId> open{v};
    while (!open.empty()) {
      const VarId next = open.back();
      open.pop_back();
      if (closure_mark_[next] == closure_) continue;
      closure_mark_[next] = closure_;
      out.push_back(next);
      const NodeId let = values_.declared_at[next];
      for (const VarId part : variables_of(program_.node(let).args[0])) open.push_back(part);
    }
  }

  // What the segment reads of other segments is recomputed or spilled.
  void take_over(std::uint32_t s) {
    SegmentValues& here = values_.segments[s];
    next_closure();
    for (const VarId v : found_[s].exposed) {
      if (is_recomputed(v, s)) {
        add_closure(v, here.recomputed);
      } else {
        spilled_uses_.emplace_back(v, s);
      }
    }
    for (const Values::Guard& guard : values_.guards) {
      if (guard.segment >= s) break;
      for (const VarId v : guard.needs) {
        if (values_.scope_of[v] == CutScope{}) add_closure(v, here.recomputed);
      }
    }
    // Variables of the segment itself are not recomputed.
    std::erase_if(here.recomputed, [&](VarId v) { return declared_in_[v] == s; });
    std::ranges::sort(here.recomputed);
  }

  // Follows each use back to where the value comes from; every segment in between passes it on.
  void follow_spilled() {
    std::ranges::sort(spilled_uses_);
    std::vector<std::uint32_t> in_mark(cut_.segments.size(), kNone);
    std::vector<std::uint32_t> out_mark(cut_.segments.size(), kNone);
    std::vector<std::uint32_t> open;
    for (const auto& [v, user] : spilled_uses_) {
      if (in_mark[user] == v) continue;
      open.push_back(user);
      in_mark[user] = v;
      while (!open.empty()) {
        const std::uint32_t s = open.back();
        open.pop_back();
        found_[s].live_in.push_back(v);
        for (const std::uint32_t before : found_[s].before) {
          if (out_mark[before] != v) {
            out_mark[before] = v;
            found_[before].live_out.push_back(v);
          }
          const bool is_new_there =
              declared_in_[v] == before || std::ranges::binary_search(found_[before].killed, v);
          if (is_new_there) continue;
          if (in_mark[before] == v) continue;
          in_mark[before] = v;
          open.push_back(before);
        }
      }
    }
  }

  void settle_segment(std::uint32_t s) {
    Found& found = found_[s];
    SegmentValues& here = values_.segments[s];
    // The live lists are sorted already, since uses were followed in the order of variables.
    std::ranges::sort(found.exposed);
    std::ranges::sort(found.assigned);
    const auto live = [](const std::vector<VarId>& list, VarId v) {
      return std::ranges::binary_search(list, v);
    };
    for (const VarId v : found.exposed) {
      if (live(found.live_in, v) && !is_recomputed(v, s)) here.loaded.push_back(v);
    }
    const std::vector<VarId> read = here.loaded;
    for (const VarId v : found.assigned) {
      if (live(read, v)) continue;
      const bool merges = live(found.live_in, v) && live(found.live_out, v);
      (merges ? here.loaded : here.blank).push_back(v);
    }
    for (const VarId v : found.live_out) {
      if (declared_in_[v] == s || live(found.assigned, v)) here.stored.push_back(v);
    }
    for (auto* list : {&here.loaded, &here.blank, &here.stored}) std::ranges::sort(*list);
  }

  void assign_slots() {
    std::vector<SpillRange> ranges;
    std::vector<std::uint32_t> range_of(program_.vars().size(), kNone);
    // Where lanes cooperate, a value must be proven the same for all of them to be spilled once.
    const bool has_barriers = program_.facts().has_barrier || program_.facts().has_subgroup_ops;
    const ir::UniformityMap uniformity =
        has_barriers ? ir::analyze_uniformity(program_) : ir::UniformityMap{};
    if (values_.tracks_running) {
      ranges.push_back({.variable = SpilledValue::kRunning,
                        .type = ir::Type::Bool,
                        .begin = 0,
                        .end = static_cast<std::uint32_t>(cut_.segments.size())});
    }
    const auto note = [&](VarId v, std::uint32_t s) {
      if (range_of[v] == kNone) {
        range_of[v] = static_cast<std::uint32_t>(ranges.size());
        const bool per_workgroup = has_barriers && uniformity.vars[v] != ir::Uniformity::Divergent;
        ranges.push_back({v, program_.var(v).type, s, s, per_workgroup});
      }
      SpillRange& range = ranges[range_of[v]];
      range.begin = std::min(range.begin, s);
      range.end = std::max(range.end, s);
    };
    for (std::uint32_t s = 0; s < found_.size(); ++s) {
      for (const VarId v : found_[s].live_out) note(v, s);
      for (const VarId v : found_[s].live_in) note(v, s);
    }
    SpillLayout layout = lay_out_spills(std::move(ranges));
    values_.spill_words = layout.lane_words;
    values_.group_words = layout.group_words;
    values_.slots = std::move(layout.slots);
    for (std::uint32_t i = 0; i < values_.slots.size(); ++i) {
      const VarId v = values_.slots[i].variable;
      if (v != SpilledValue::kRunning) values_.slot_of[v] = i;
    }
  }

  const ir::Program& program_;
  const Cut& cut_;
  const bool forks_decide_;
  std::vector<std::uint32_t> first_writer_;  // by BufferId: the first segment that changes it
  std::vector<Span> loops_;                  // by fork
  std::vector<std::uint32_t> declared_in_;   // by VarId: the segment
  std::vector<std::uint32_t> limit_;         // by VarId: see limit_of
  std::vector<std::uint32_t> earliest_;
  std::vector<std::uint32_t> parts_;  // by VarId: see parts_of
  std::vector<std::uint32_t> exposed_mark_;
  std::vector<std::uint32_t> killed_mark_;
  std::vector<std::uint32_t> assigned_mark_;
  std::vector<std::uint32_t> closure_mark_;
  std::uint32_t closure_ = 0;
  std::vector<Found> found_;
  std::vector<std::pair<VarId, std::uint32_t>> spilled_uses_;
  Values values_;
};

}  // namespace

Values find_values(const ir::Program& program, const Cut& cut,
                   const std::vector<ir::Effects>& effects, bool forks_decide) {
  return Analysis(program, cut, effects, forks_decide).run();
}

}  // namespace felsite::dispatch
