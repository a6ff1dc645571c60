#include "ir/analysis/uniformity.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "ir/analysis/effects.h"
#include "ir/walk.h"

namespace felsite::ir {
namespace {

// The number of waits times the number of buffers with their tags can be quadratic. Beyond this
// many writes a copy counts as writing everywhere, which is sound and linear.
constexpr std::size_t kMaxAsyncWrites = 1'000'000;

Uniformity join(Uniformity a, Uniformity b) { return std::max(a, b); }

// Barrier-free stretches of a program, and the control flow between them that crosses no barrier. A
// phase is everything that is reachable in this way from one barrier, or from the start. All
// invocations are in the same phase at any time, so accesses without a common phase never conflict.
class Phases {
 public:
  using Id = std::uint32_t;

  // `begin` creates a stretch that begins a phase, `create` one that does not.
  Id begin() {
    starts_.push_back(create());
    return starts_.back();
  }
  Id create() {
    flows_.emplace_back();
    return static_cast<Id>(flows_.size() - 1);
  }
  void flow(Id from, Id to) { flows_[from].push_back(to); }
  // The stretch after two that meet.
  Id join(Id a, Id b) {
    if (a == b) return a;
    const Id joined = create();
    flow(a, joined);
    flow(b, joined);
    return joined;
  }
  void write(Id stretch, BufferId buffer, NodeId by) { writes_.push_back({stretch, buffer, by}); }
  void load(Id stretch) { loads_.push_back(stretch); }

  // Finds the phases once all stretches are known. If that takes too long, it uses fewer, larger
  // phases, which is sound.
  void settle() {
    phases_of_.assign(flows_.size(), {});
    if (!find_phases()) find_large_phases();
    std::vector<Write> in_phases;
    for (const Write& write : writes_) {
      for (const Id phase : phases_of_[write.stretch]) {
        in_phases.push_back({phase, write.buffer, write.by});
      }
    }
    writes_ = std::move(in_phases);
    std::ranges::sort(writes_, {},
                      [](const Write& w) { return std::tuple(w.stretch, w.buffer, w.by); });
  }
  // A write that may conflict with a load in the stretch; kNone if there is none.
  NodeId written(Id stretch, BufferId buffer) const {
    for (const Id phase : phases_of_[stretch]) {
      const auto found =
          std::ranges::lower_bound(writes_, std::pair(phase, buffer), {},
                                   [](const Write& w) { return std::pair(w.stretch, w.buffer); });
      if (found != writes_.end() && found->stretch == phase && found->buffer == buffer) {
        return found->by;
      }
    }
    return kNone;
  }

 private:
  struct Write {
    Id stretch;  // after settle(): the phase
    BufferId buffer;
    NodeId by;
  };

  bool find_phases() {
    constexpr std::size_t kMax = 4'000'000;
    std::size_t pairs = 0;
    std::vector<Id> seen(flows_.size(), kNone);
    std::vector<Id> open;
    for (Id phase = 0; phase < starts_.size(); ++phase) {
      open.push_back(starts_[phase]);
      seen[starts_[phase]] = phase;
      while (!open.empty()) {
        const Id at = open.back();
        open.pop_back();
        phases_of_[at].push_back(phase);
        if (++pairs > kMax) return false;
        for (const Id next : flows_[at]) {
          if (seen[next] == phase) continue;
          seen[next] = phase;
          open.push_back(next);
        }
      }
    }
    std::size_t looks = 0;
    for (const Write& write : writes_) looks += phases_of_[write.stretch].size();
    for (const Id stretch : loads_) looks += phases_of_[stretch].size();
    return looks <= kMax;
  }

  // Everything that is connected becomes one phase.
  void find_large_phases() {
    std::vector<Id> parents(flows_.size());
    std::iota(parents.begin(), parents.end(), Id{0});
    const auto find = [&](Id id) {
      while (parents[id] != id) id = parents[id] = parents[parents[id]];
      return id;
    };
    for (Id from = 0; from < flows_.size(); ++from) {
      for (const Id to : flows_[from]) parents[find(from)] = find(to);
    }
    for (Id id = 0; id < flows_.size(); ++id) phases_of_[id] = {find(id)};
  }

  std::vector<std::vector<Id>> flows_;  // by stretch
  std::vector<Id> starts_;              // by phase
  std::vector<std::vector<Id>> phases_of_;
  std::vector<Write> writes_;
  std::vector<Id> loads_;
};

class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program), copies_(program) {}

  UniformityMap run() {
    const std::size_t var_count = program_.vars().size();
    // Vertices: the variables, then one control vertex per node that branches.
    state_.assign(var_count + program_.nodes().size(), Uniformity::Grid);
    load_state_.assign(program_.exprs().size(), Uniformity::Grid);
    writers_.assign(program_.exprs().size(), kNone);
    find_phases_of_loads();
    collect();
    propagate();
    return result();
  }

 private:
  struct Place {
    Phases::Id grid;
    Phases::Id workgroup;
  };
  struct LoadSite {
    ExprId expr;
    Place place;
  };
  // The body of a node: where it begins, and for an If where its first arm ends.
  struct Body {
    Place entry;
    std::optional<Place> then_end;
  };

  // Whether a workgroup has one invocation along the axis.
  bool is_single(std::uint8_t axis) const { return program_.workgroup_size()[axis % 3] == 1; }
  std::uint32_t control_vertex(NodeId node) const {
    return static_cast<std::uint32_t>(program_.vars().size()) + node;
  }

  void find_phases_of_loads();
  void visit_node(NodeId id, Place& at);
  void collect();
  void sink(ExprId root, std::uint32_t vertex);
  Uniformity leaf(ExprId id) const;
  void propagate();
  UniformityMap result() const;

  void edge(std::uint32_t from, std::uint32_t to) { edges_.emplace_back(from, to); }

  const Program& program_;
  const AsyncDestinations copies_;
  Phases grid_;
  Phases workgroup_;
  std::size_t async_writes_ = 0;
  std::vector<LoadSite> loads_;
  std::vector<Uniformity> load_state_;  // of the memory that a load reads, apart from its index
  std::vector<NodeId> writers_;         // of the memory that a load reads, in the same phase
  std::vector<Uniformity> state_;
  std::vector<std::uint32_t> parent_;  // enclosing branching node by NodeId, kNone at the top
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

void Analysis::visit_node(NodeId id, Place& at) {
  const Node& node = program_.node(id);
  const auto write = [&](std::uint32_t buffer) {
    if (!is_resolved(buffer)) return;
    grid_.write(at.grid, buffer, id);
    workgroup_.write(at.workgroup, buffer, id);
  };
  const NodeKindInfo& facts = info(node.kind);
  for (const ExprId row : program_.rows_of_node(id)) {
    const Expr& expr = program_.expr(row);
    if (expr.kind == ExprKind::Load && is_resolved(expr.ref)) {
      loads_.push_back({row, at});
      grid_.load(at.grid);
      workgroup_.load(at.workgroup);
    }
    if (info(expr.kind).purity == Purity::ChangesMemory) write(expr.ref);
  }
  // A node that orders the grid writes between two phases, where no load can conflict with it.
  if (facts.writes == NodeMemory::Buffer && facts.orders == Orders::Nothing) write(node.ref);
  if (facts.writes == NodeMemory::Copies && async_writes_ < kMaxAsyncWrites) {
    copies_.each(node.name, [&](BufferId buffer) {
      write(buffer);
      ++async_writes_;
    });
  }
  if (facts.orders != Orders::Nothing) at.workgroup = workgroup_.begin();
  if (orders_grid(node)) at.grid = grid_.begin();
}

void Analysis::find_phases_of_loads() {
  const NodeRange entry = program_.entry();
  parent_.assign(program_.nodes().size(), kNone);
  Place at{grid_.begin(), workgroup_.begin()};
  std::vector<Body> open;
  for (Walk walk(program_, entry); walk.next();) {
    const NodeId id = walk.id();
    const Node& node = program_.node(id);
    switch (walk.step()) {
      case Walk::Step::Leaf:
      case Walk::Step::Enter: {
        // Only the nearest parent that branches matters.
        const auto around = walk.around();
        const auto parent = std::find_if(around.rbegin(), around.rend(), [&](NodeId outer) {
          return info(program_.node(outer).kind).branches;
        });
        if (parent != around.rend()) parent_[id] = *parent;
        visit_node(id, at);
        if (walk.step() == Walk::Step::Leaf) break;
        if (node.kind == NodeKind::Loop) {
          // The bounds are read once, before the loop.
          const Place head{grid_.create(), workgroup_.create()};
          grid_.flow(at.grid, head.grid);
          workgroup_.flow(at.workgroup, head.workgroup);
          at = head;
        }
        open.push_back({at, {}});
        break;
      }
      case Walk::Step::Else:
        open.back().then_end = at;
        at = open.back().entry;
        break;
      case Walk::Step::Leave: {
        const Body body = open.back();
        open.pop_back();
        if (node.kind == NodeKind::If) {
          const Place then_end = body.then_end.value_or(at);
          const Place else_end = body.then_end ? at : body.entry;
          at = {grid_.join(else_end.grid, then_end.grid),
                workgroup_.join(else_end.workgroup, then_end.workgroup)};
        }
        if (node.kind == NodeKind::Loop) {
          // Another trip, or on to what follows the loop.
          grid_.flow(at.grid, body.entry.grid);
          workgroup_.flow(at.workgroup, body.entry.workgroup);
          at = body.entry;
        }
        break;
      }
    }
  }
  grid_.settle();
  workgroup_.settle();
  std::vector<bool> copied_to(program_.buffers().size(), false);
  for (const Node& node : program_.nodes()) {
    if (info(node.kind).issues_copy && is_resolved(node.ref))
      copied_to[node.ref] = async_writes_ >= kMaxAsyncWrites;
  }
  for (const LoadSite& load : loads_) {
    const BufferId buffer = program_.expr(load.expr).ref;
    const bool shared = program_.buffer(buffer).access == Access::Workgroup;
    Uniformity& state = load_state_[load.expr];
    if (shared) {
      // Workgroup memory differs between workgroups.
      writers_[load.expr] = workgroup_.written(load.place.workgroup, buffer);
      state = Uniformity::Workgroup;
    } else {
      writers_[load.expr] = grid_.written(load.place.grid, buffer);
    }
    if (writers_[load.expr] != kNone) state = Uniformity::Divergent;
    if (copied_to[buffer]) state = Uniformity::Divergent;
  }
}

Uniformity Analysis::leaf(ExprId id) const {
  const Expr& expr = program_.expr(id);
  switch (info(expr.kind).depends_on) {
    case DependsOn::Operands:
    case DependsOn::Grid:
    case DependsOn::Device:
    case DependsOn::Variable:  // variables have vertices
      return Uniformity::Grid;
    case DependsOn::Workgroup:
      return Uniformity::Workgroup;
    case DependsOn::Local:
      return is_single(expr.aux) ? Uniformity::Grid : Uniformity::Divergent;
    case DependsOn::Invocation:
      return is_single(expr.aux) ? Uniformity::Workgroup : Uniformity::Divergent;
    case DependsOn::Lanes:
      return Uniformity::Divergent;
    case DependsOn::Memory:
      return expr.kind == ExprKind::Load ? load_state_[id] : Uniformity::Divergent;
  }
  return Uniformity::Divergent;
}

// Everything in an expression flows into the vertex that takes its value.
void Analysis::sink(ExprId root, std::uint32_t vertex) {
  for (const ExprId row : program_.rows(root)) {
    const Expr& expr = program_.expr(row);
    state_[vertex] = join(state_[vertex], leaf(row));
    if (expr.kind == ExprKind::Var && is_resolved(expr.ref)) edge(expr.ref, vertex);
  }
}

void Analysis::collect() {
  for (NodeId id = program_.entry().begin; id < program_.entry().end; ++id) {
    const Node& node = program_.node(id);
    const NodeId parent = parent_[id];
    const VariableUse use = info(node.kind).variable;
    if (sets_variable(node) && is_resolved(node.ref)) {
      sink(node.args[0], node.ref);
      if (use == VariableUse::Assigns && parent != kNone) edge(control_vertex(parent), node.ref);
    }
    if (info(node.kind).branches) {
      for (const ExprId root : program_.expressions(id)) sink(root, control_vertex(id));
      if (parent != kNone) edge(control_vertex(parent), control_vertex(id));
      if (use == VariableUse::Declares) edge(control_vertex(id), node.ref);
    }
  }
}

void Analysis::propagate() {
  std::ranges::sort(edges_);
  std::vector<std::uint32_t> work;
  for (std::uint32_t v = 0; v < state_.size(); ++v) {
    if (state_[v] != Uniformity::Grid) work.push_back(v);
  }
  while (!work.empty()) {
    const std::uint32_t from = work.back();
    work.pop_back();
    for (auto e = std::ranges::lower_bound(edges_, std::pair(from, 0u));
         e != edges_.end() && e->first == from; ++e) {
      if (state_[from] > state_[e->second]) {
        state_[e->second] = state_[from];
        work.push_back(e->second);
      }
    }
  }
}

UniformityMap Analysis::result() const {
  UniformityMap map;
  map.writers = writers_;
  map.vars.assign(state_.begin(),
                  state_.begin() + static_cast<std::ptrdiff_t>(program_.vars().size()));
  map.control.assign(program_.nodes().size(), Uniformity::Grid);
  for (NodeId id = 0; id < map.control.size(); ++id) {
    if (id < parent_.size() && parent_[id] != kNone) {
      map.control[id] = state_[control_vertex(parent_[id])];
    }
  }
  map.exprs.assign(program_.exprs().size(), Uniformity::Grid);
  for (ExprId id = 0; id < map.exprs.size(); ++id) {
    const Expr& expr = program_.expr(id);
    Uniformity value = leaf(id);
    if (expr.kind == ExprKind::Var && is_resolved(expr.ref))
      value = join(value, map.vars[expr.ref]);
    for (const ExprId operand : program_.operands(id)) value = join(value, map.exprs[operand]);
    map.exprs[id] = value;
  }
  return map;
}

}  // namespace

UniformityMap analyze_uniformity(const Program& program) { return Analysis(program).run(); }

}  // namespace felsite::ir
