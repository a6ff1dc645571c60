#include "ir/analysis/effects.h"

#include <algorithm>
#include <unordered_set>

namespace felsite::ir {
namespace {

void tidy(std::vector<BufferId>& buffers) {
  std::ranges::sort(buffers);
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
}

void add(std::vector<BufferId>& buffers, std::uint32_t ref) {
  // Runs of accesses to one buffer are common; the rest is sorted out at the end.
  if (is_resolved(ref) && (buffers.empty() || buffers.back() != ref)) buffers.push_back(ref);
}

void add_node(const Program& program, NodeId id, const AsyncDestinations& copies,
              std::unordered_set<NameId>& waited, Effects& effects) {
  const Node& node = program.node(id);
  switch (node.kind) {
    case NodeKind::Store:
      add(effects.writes, node.ref);
      return;
    case NodeKind::IndirectDispatch:
      add(effects.reads, node.ref);
      return;
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore:
      add(effects.reads, node.ref2);
      return;
    case NodeKind::AsyncWait:
      if (!waited.insert(node.name).second) return;
      copies.each(node.name, [&](BufferId buffer) { add(effects.writes, buffer); });
      return;
    case NodeKind::AllReduce:
    case NodeKind::Broadcast:
      add(effects.reads, node.ref);
      add(effects.writes, node.ref);
      return;
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
      add(effects.reads, node.ref2);
      add(effects.writes, node.ref);
      return;
    case NodeKind::Let:
    case NodeKind::Assign:
    case NodeKind::If:
    case NodeKind::Loop:
    case NodeKind::Return:
    case NodeKind::Block:
    case NodeKind::Region:
    case NodeKind::Barrier:
    case NodeKind::Trap:
    case NodeKind::Resume:
      return;
  }
}

}  // namespace

AsyncDestinations::AsyncDestinations(const Program& program) {
  if (!program.facts().has_async) return;
  for (const Node& node : program.nodes()) {
    const bool copies = node.kind == NodeKind::AsyncLoad || node.kind == NodeKind::AsyncStore;
    if (copies && is_resolved(node.ref)) rows_.emplace_back(node.name, node.ref);
  }
  std::ranges::sort(rows_);
  rows_.erase(std::unique(rows_.begin(), rows_.end()), rows_.end());
}

AsyncDestinations::Rows::const_iterator AsyncDestinations::first(NameId tag) const {
  return std::ranges::lower_bound(rows_, std::pair(tag, BufferId{0}));
}

Effects effects_of(const Program& program, NodeRange range) {
  return effects_of(program, range, AsyncDestinations(program));
}

Effects effects_of(const Program& program, NodeRange range, const AsyncDestinations& copies) {
  Effects effects;
  std::unordered_set<NameId> waited;  // one wait for a tag is as good as many
  for (NodeId id = range.begin; id < range.end; ++id) {
    add_node(program, id, copies, waited, effects);
    for (const ExprId root : program.expressions(id)) {
      for (ExprId row = program.first_row(root); row <= root; ++row) {
        const Expr& expr = program.expr(row);
        if (expr.kind == ExprKind::Load) add(effects.reads, expr.ref);
        if (expr.kind == ExprKind::Atomic) add(effects.atomics, expr.ref);
      }
    }
  }
  tidy(effects.reads);
  tidy(effects.writes);
  tidy(effects.atomics);
  return effects;
}

}  // namespace felsite::ir
