#include "ir/liveness.h"

#include <algorithm>
#include <iterator>

namespace felsite::ir {
namespace {

using VarSet = std::vector<VarId>;  // sorted

void insert(VarSet& set, VarId var) {
  const auto at = std::ranges::lower_bound(set, var);
  if (at == set.end() || *at != var) set.insert(at, var);
}

void erase(VarSet& set, VarId var) {
  const auto at = std::ranges::lower_bound(set, var);
  if (at != set.end() && *at == var) set.erase(at);
}

void unite(VarSet& set, const VarSet& other) {
  if (other.empty()) return;
  VarSet both;
  both.reserve(set.size() + other.size());
  std::ranges::set_union(set, other, std::back_inserter(both));
  set = std::move(both);
}

// Nodes are in pre-order, so a scan from the last to the first meets every body backwards, and
// every node after all that is nested in it. Bodies are entered at their boundaries.
class BackwardScan {
 public:
  explicit BackwardScan(const Program& program) : program_(program) {
    const NodeRange entry = program.entry();
    upward_exposed_.resize(program.nodes().size());
    for (NodeId id = entry.begin; id < entry.end; ++id) {
      if (!info(program.node(id).kind).has_body) continue;
      boundaries_.push_back({program.node(id).end, id, false});
      if (program.node(id).kind == NodeKind::If) {
        boundaries_.push_back({program.node(id).extra, id, true});
      }
    }
    // From the back of the program; at one position the outer body first.
    std::ranges::sort(boundaries_, [](const Boundary& a, const Boundary& b) {
      if (a.position != b.position) return a.position > b.position;
      if (a.node != b.node) return a.node < b.node;
      return !a.to_then && b.to_then;
    });
  }

  // First pass: what each loop body reads before it sets it. Second pass: the answer, with what a
  // body's next trip reads alive at its end.
  std::vector<VarSet> run(std::span<const NodeId> points) {
    scan(Pass::UpwardExposed);
    for (std::size_t i = 0; i < points.size(); ++i) points_.emplace_back(points[i], i);
    std::ranges::sort(points_);
    result_.resize(points.size());
    scan(Pass::Live);
    return std::move(result_);
  }

 private:
  enum class Pass : std::uint8_t { UpwardExposed, Live };
  struct Boundary {
    NodeId position;
    NodeId node;
    bool to_then;
  };
  struct Frame {
    VarSet after;      // live behind the node
    VarSet else_live;  // live at the start of the else arm
  };

  void uses(NodeId id, VarSet& live) const {
    for (const ExprId root : program_.expressions(id)) {
      for (ExprId row = program_.first_row(root); row <= root; ++row) {
        const Expr& expr = program_.expr(row);
        if (expr.kind == ExprKind::Var && is_resolved(expr.ref)) insert(live, expr.ref);
      }
    }
  }

  void record(NodeId id, const VarSet& after);
  void scan(Pass pass);
  void cross(const Boundary& boundary, Pass pass, VarSet& live);
  void leave(NodeId id, Pass pass, VarSet& live);

  const Program& program_;
  std::vector<Boundary> boundaries_;
  std::vector<VarSet> upward_exposed_;  // by loop NodeId
  std::vector<Frame> frames_;
  std::vector<std::pair<NodeId, std::size_t>> points_;  // sorted, with the index in the answer
  std::vector<VarSet> result_;
};

void BackwardScan::cross(const Boundary& boundary, Pass pass, VarSet& live) {
  if (boundary.to_then) {
    frames_.back().else_live = std::move(live);
    live = frames_.back().after;
    return;
  }
  frames_.push_back({live, {}});
  if (program_.node(boundary.node).kind != NodeKind::Loop) return;
  if (pass == Pass::UpwardExposed) {
    live.clear();
  } else {
    unite(live, upward_exposed_[boundary.node]);
  }
}

void BackwardScan::leave(NodeId id, Pass pass, VarSet& live) {
  const Node& node = program_.node(id);
  Frame frame = std::move(frames_.back());
  frames_.pop_back();
  if (node.kind == NodeKind::If) unite(live, frame.else_live);
  if (node.kind == NodeKind::Loop) {
    erase(live, node.ref);
    if (pass == Pass::UpwardExposed) upward_exposed_[id] = live;
    unite(live, frame.after);  // no trip at all
  }
  uses(id, live);
}

void BackwardScan::record(NodeId id, const VarSet& after) {
  for (auto point = std::ranges::lower_bound(points_, std::pair(id, std::size_t{0}));
       point != points_.end() && point->first == id; ++point) {
    result_[point->second] = after;
  }
}

void BackwardScan::scan(Pass pass) {
  const NodeRange entry = program_.entry();
  VarSet live;
  std::size_t next = 0;
  for (NodeId id = entry.end;; --id) {
    while (next < boundaries_.size() && boundaries_[next].position == id) {
      cross(boundaries_[next++], pass, live);
    }
    if (id == entry.begin) return;
    const NodeId node_id = id - 1;
    const Node& node = program_.node(node_id);
    if (info(node.kind).has_body) {
      record(node_id, frames_.back().after);
      leave(node_id, pass, live);
      continue;
    }
    if (node.kind == NodeKind::Return) live.clear();  // whatever stands behind it
    record(node_id, live);
    const bool defines = node.kind == NodeKind::Let || node.kind == NodeKind::Assign;
    if (defines && is_resolved(node.ref)) erase(live, node.ref);
    uses(node_id, live);
  }
}

}  // namespace

std::vector<std::vector<VarId>> live_after(const Program& program, std::span<const NodeId> points) {
  return BackwardScan(program).run(points);
}

}  // namespace felsite::ir
