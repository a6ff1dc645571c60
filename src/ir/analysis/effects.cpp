#include "ir/analysis/effects.h"

#include <algorithm>
#include <unordered_set>

namespace felsite::ir {
namespace {

void tidy(auto& rows) {
  std::ranges::sort(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
}

void add(std::vector<BufferId>& buffers, std::uint32_t ref) {
  // Several accesses to one buffer in a row are common; other duplicates are removed at the end.
  if (is_resolved(ref) && (buffers.empty() || buffers.back() != ref)) buffers.push_back(ref);
}

void add_node(const Program& program, NodeId id, const AsyncDestinations& copies,
              std::unordered_set<NameId>& waited, Effects& effects) {
  const Node& node = program.node(id);
  const auto touch = [&](NodeMemory use, std::vector<BufferId>& buffers) {
    switch (use) {
      case NodeMemory::None:
        return;
      case NodeMemory::Buffer:
        return add(buffers, node.ref);
      case NodeMemory::Source:
        return add(buffers, node.ref2);
      case NodeMemory::Copies:
        if (!waited.insert(node.name).second) return;
        return copies.each(node.name, [&](BufferId buffer) { add(buffers, buffer); });
    }
  };
  touch(info(node.kind).reads, effects.reads);
  touch(info(node.kind).writes, effects.writes);
}

}  // namespace

AsyncDestinations::AsyncDestinations(const Program& program) {
  if (!program.facts().has_async) return;
  for (const Node& node : program.nodes()) {
    if (info(node.kind).issues_copy && is_resolved(node.ref))
      rows_.emplace_back(node.name, node.ref);
  }
  tidy(rows_);
}

AsyncDestinations::Rows::const_iterator AsyncDestinations::first(NameId tag) const {
  return std::ranges::lower_bound(rows_, std::pair(tag, BufferId{0}));
}

Effects effects_of(const Program& program, NodeRange range) {
  return effects_of(program, range, AsyncDestinations(program));
}

Effects effects_of(const Program& program, NodeRange range, const AsyncDestinations& copies) {
  Effects effects;
  std::unordered_set<NameId> waited;  // repeated waits for a tag change nothing
  for (NodeId id = range.begin; id < range.end; ++id) {
    add_node(program, id, copies, waited, effects);
    for (const ExprId row : program.rows_of_node(id)) {
      const Expr& expr = program.expr(row);
      if (info(expr.kind).depends_on != DependsOn::Memory) continue;
      const bool changes = info(expr.kind).purity == Purity::ChangesMemory;
      add(changes ? effects.atomics : effects.reads, expr.ref);
    }
  }
  tidy(effects.reads);
  tidy(effects.writes);
  tidy(effects.atomics);
  return effects;
}

}  // namespace felsite::ir
