#include "ir/uniformity.h"

#include <algorithm>

#include "ir/effects.h"

namespace felsite::ir {
namespace {

// Waits times buffers of their tags can be quadratic in the program. Past this many writes a copy
// counts as writing everywhere, which is sound, and linear.
constexpr std::size_t kMostAsyncWrites = 1'000'000;

Uniformity join(Uniformity a, Uniformity b) { return std::max(a, b); }

// The stretches of a program between barriers, merged wherever control can flow from one to the
// other without crossing a barrier, each with the buffers that may be written in it.
class Intervals {
 public:
  using Id = std::uint32_t;

  Id create() {
    parents_.push_back(static_cast<Id>(parents_.size()));
    return parents_.back();
  }
  void merge(Id a, Id b) { parents_[find(a)] = find(b); }
  void write(Id interval, BufferId buffer) { writes_.emplace_back(interval, buffer); }
  // Once all are merged: sorted (interval, buffer) pairs to look up.
  void settle() {
    for (auto& [interval, buffer] : writes_) interval = find(interval);
    std::ranges::sort(writes_);
    writes_.erase(std::unique(writes_.begin(), writes_.end()), writes_.end());
  }
  bool written(Id interval, BufferId buffer) {
    return std::ranges::binary_search(writes_, std::pair(find(interval), buffer));
  }

 private:
  Id find(Id id) {
    while (parents_[id] != id) {
      parents_[id] = parents_[parents_[id]];
      id = parents_[id];
    }
    return id;
  }

  std::vector<Id> parents_;
  std::vector<std::pair<Id, BufferId>> writes_;
};

class Analysis {
 public:
  explicit Analysis(const Program& program) : program_(program), copies_(program) {}

  UniformityMap run() {
    const std::size_t var_count = program_.vars().size();
    // Vertices: the variables, then one control vertex per node that branches.
    state_.assign(var_count + program_.nodes().size(), Uniformity::Grid);
    load_state_.assign(program_.exprs().size(), Uniformity::Grid);
    find_intervals();
    collect();
    propagate();
    return result();
  }

 private:
  struct Place {
    Intervals::Id grid;
    Intervals::Id workgroup;
  };
  struct LoadSite {
    ExprId expr;
    Place place;
  };
  struct Open {
    NodeId node;
    NodeId boundary;  // where the current arm ends
    Place entry;
    Place then_end;
    bool in_else;
  };

  std::uint32_t control_vertex(NodeId node) const {
    return static_cast<std::uint32_t>(program_.vars().size()) + node;
  }

  void find_intervals();
  void visit_node(NodeId id, Place& at);
  void collect();
  void sink(ExprId root, std::uint32_t vertex);
  Uniformity leaf(ExprId id) const;
  void propagate();
  UniformityMap result() const;

  void edge(std::uint32_t from, std::uint32_t to) { edges_.emplace_back(from, to); }

  const Program& program_;
  const AsyncDestinations copies_;
  Intervals grid_;
  Intervals workgroup_;
  std::size_t async_writes_ = 0;
  std::vector<LoadSite> loads_;
  std::vector<Uniformity> load_state_;  // of the memory a load reads, apart from its index
  std::vector<Uniformity> state_;
  std::vector<std::uint32_t> parent_;  // enclosing branching node by NodeId, kNone at the top
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;
};

void Analysis::visit_node(NodeId id, Place& at) {
  const Node& node = program_.node(id);
  const auto write = [&](std::uint32_t buffer) {
    if (!is_resolved(buffer)) return;
    grid_.write(at.grid, buffer);
    workgroup_.write(at.workgroup, buffer);
  };
  for (const ExprId root : program_.expressions(id)) {
    for (ExprId row = program_.first_row(root); row <= root; ++row) {
      const Expr& expr = program_.expr(row);
      if (expr.kind == ExprKind::Load && is_resolved(expr.ref)) loads_.push_back({row, at});
      if (expr.kind == ExprKind::Atomic) write(expr.ref);
    }
  }
  if (node.kind == NodeKind::Store) write(node.ref);
  if (node.kind == NodeKind::AsyncWait && async_writes_ < kMostAsyncWrites) {
    copies_.each(node.name, [&](BufferId buffer) {
      write(buffer);
      ++async_writes_;
    });
  }
  const bool grid_wide = info(node.kind).whole_grid ||
                         (node.kind == NodeKind::Barrier && node.ordering() == Ordering::GridSync);
  if (grid_wide || node.kind == NodeKind::Barrier) at.workgroup = workgroup_.create();
  if (grid_wide) at.grid = grid_.create();
}

void Analysis::find_intervals() {
  const NodeRange entry = program_.entry();
  parent_.assign(program_.nodes().size(), kNone);
  Place at{grid_.create(), workgroup_.create()};
  std::vector<Open> open;
  const auto merge = [&](Place a, Place b) {
    grid_.merge(a.grid, b.grid);
    workgroup_.merge(a.workgroup, b.workgroup);
  };
  for (NodeId id = entry.begin;; ++id) {
    while (!open.empty() && id == open.back().boundary) {
      Open& top = open.back();
      const Node& node = program_.node(top.node);
      if (node.kind == NodeKind::If && !top.in_else) {
        top.in_else = true;
        top.then_end = at;
        top.boundary = node.end;
        at = top.entry;
        continue;
      }
      if (node.kind == NodeKind::If) merge(at, top.then_end);
      if (node.kind == NodeKind::Loop) {
        merge(at, top.entry);
        at = top.entry;
      }
      open.pop_back();
    }
    if (id >= entry.end) break;
    // The parent that matters is the nearest one that branches.
    const auto branches = [&](const Open& o) {
      const NodeKind kind = program_.node(o.node).kind;
      return kind == NodeKind::If || kind == NodeKind::Loop;
    };
    const auto enclosing = std::find_if(open.rbegin(), open.rend(), branches);
    parent_[id] = enclosing == open.rend() ? kNone : enclosing->node;
    visit_node(id, at);
    if (info(program_.node(id).kind).has_body) {
      open.push_back({id, program_.then_body(id).end, at, at, false});
    }
  }
  grid_.settle();
  workgroup_.settle();
  std::vector<bool> copied_to(program_.buffers().size(), false);
  for (const Node& node : program_.nodes()) {
    const bool copies = node.kind == NodeKind::AsyncLoad || node.kind == NodeKind::AsyncStore;
    if (copies && is_resolved(node.ref)) copied_to[node.ref] = async_writes_ >= kMostAsyncWrites;
  }
  for (const LoadSite& load : loads_) {
    const BufferId buffer = program_.expr(load.expr).ref;
    const bool shared = program_.buffer(buffer).access == Access::Workgroup;
    Uniformity& state = load_state_[load.expr];
    if (shared) {
      // Workgroup memory differs from group to group.
      const bool changing = workgroup_.written(load.place.workgroup, buffer);
      state = changing ? Uniformity::Divergent : Uniformity::Workgroup;
    } else if (grid_.written(load.place.grid, buffer)) {
      state = Uniformity::Divergent;
    }
    if (copied_to[buffer]) state = Uniformity::Divergent;
  }
}

Uniformity Analysis::leaf(ExprId id) const {
  const Expr& expr = program_.expr(id);
  switch (expr.kind) {
    case ExprKind::Load:
      return load_state_[id];
    case ExprKind::InvocationId:
      return program_.workgroup_size()[expr.aux % 3] == 1 ? Uniformity::Workgroup
                                                          : Uniformity::Divergent;
    case ExprKind::LocalId:
      return program_.workgroup_size()[expr.aux % 3] == 1 ? Uniformity::Grid
                                                          : Uniformity::Divergent;
    case ExprKind::WorkgroupId:
      return Uniformity::Workgroup;
    case ExprKind::SubgroupLocalId:
    case ExprKind::Atomic:
    case ExprKind::SubgroupBallot:
    case ExprKind::SubgroupShuffle:
    case ExprKind::SubgroupReduce:
      return Uniformity::Divergent;
    case ExprKind::Literal:
    case ExprKind::Var:
    case ExprKind::BufLen:
    case ExprKind::NumWorkgroups:
    case ExprKind::WorkgroupSize:
    case ExprKind::SubgroupSize:
    case ExprKind::Binary:
    case ExprKind::Unary:
    case ExprKind::Select:
    case ExprKind::Cast:
    case ExprKind::Bitcast:
    case ExprKind::Fma:
    case ExprKind::Call:
      return Uniformity::Grid;
  }
  return Uniformity::Divergent;
}

// Everything an expression is made of flows into the vertex that takes its value.
void Analysis::sink(ExprId root, std::uint32_t vertex) {
  for (ExprId row = program_.first_row(root); row <= root; ++row) {
    const Expr& expr = program_.expr(row);
    state_[vertex] = join(state_[vertex], leaf(row));
    if (expr.kind == ExprKind::Var && is_resolved(expr.ref)) edge(expr.ref, vertex);
  }
}

void Analysis::collect() {
  for (NodeId id = program_.entry().begin; id < program_.entry().end; ++id) {
    const Node& node = program_.node(id);
    const NodeId parent = parent_[id];
    const bool declares = node.kind == NodeKind::Let || node.kind == NodeKind::Assign;
    if (declares && is_resolved(node.ref)) {
      sink(node.args[0], node.ref);
      if (node.kind == NodeKind::Assign && parent != kNone) edge(control_vertex(parent), node.ref);
    }
    if (node.kind == NodeKind::If || node.kind == NodeKind::Loop) {
      for (const ExprId root : program_.expressions(id)) sink(root, control_vertex(id));
      if (parent != kNone) edge(control_vertex(parent), control_vertex(id));
      if (node.kind == NodeKind::Loop) edge(control_vertex(id), node.ref);
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
