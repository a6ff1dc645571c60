#include "dispatch/cut/change_reports.h"

#include <algorithm>
#include <array>
#include <optional>

#include "ir/analysis/effects.h"

namespace felsite::dispatch {
namespace {

using ir::NodeId;
using ir::NodeKind;
using ir::Type;

// Types whose old value a store can compare with the new one: narrow elements are truncated when
// stored, and the IR has no bits of half floats.
bool can_report(const ir::BufferDecl& buffer, bool fresh_outputs) {
  constexpr std::array kTypes{Type::U32, Type::I32, Type::U64, Type::I64, Type::F32, Type::F64};
  return std::ranges::find(kTypes, buffer.element) != kTypes.end() &&
         values_are_bytes(buffer, fresh_outputs);
}

// A report is nested two bodies deeper than its store, and the nesting is limited.
constexpr std::size_t kDeepest = 200;

// Which variables hold a buffer's element at the invocation's own place.
class LoadedValues {
 public:
  explicit LoadedValues(const ir::Program& program)
      : program_(program), loaded_(program.buffers().size()) {}

  // To be called for each node, in order.
  void enter(NodeId id) {
    while (!ends_.empty() && id >= ends_.back()) ends_.pop_back();
    const ir::Node& node = program_.node(id);
    if (!ir::info(node.kind).has_body) return;
    ends_.push_back(node.end);
    if (node.kind == NodeKind::If && node.extra != node.end) ends_.push_back(node.extra);
  }
  std::size_t depth() const { return ends_.size(); }
  void note(ir::BufferId buffer, NodeId let) {
    loaded_[buffer] = {let, ends_.empty() ? program_.entry().end : ends_.back()};
  }
  // The Let that a store finds in its scope, or kNone.
  NodeId let_of(ir::BufferId buffer, NodeId store) const {
    const auto [let, scope_end] = loaded_[buffer];
    return store < scope_end ? let : ir::kNone;
  }

 private:
  struct Loaded {
    NodeId let = ir::kNone;
    NodeId scope_end = 0;
  };

  const ir::Program& program_;
  std::vector<Loaded> loaded_;  // by BufferId
  std::vector<NodeId> ends_;    // of the enclosing bodies
};

// What changes a buffer.
struct Changes {
  std::vector<NodeId> reporting{};  // a store at the invocation's own place, or Lets of atomics
  std::optional<ir::AtomicOp> atomic{};
  bool others = false;

  void add_store(NodeId id) {
    others = others || !reporting.empty();
    reporting.push_back(id);
  }
  void add_atomic(NodeId let, ir::AtomicOp op) {
    others = others || (!reporting.empty() && atomic != op);
    atomic = op;
    reporting.push_back(let);
  }
};

}  // namespace

std::optional<ir::BinaryOp> one_way(ir::AtomicOp op) {
  switch (op) {
    case ir::AtomicOp::Or:
      return ir::BinaryOp::BitOr;
    case ir::AtomicOp::And:
      return ir::BinaryOp::BitAnd;
    case ir::AtomicOp::Min:
      return ir::BinaryOp::Min;
    case ir::AtomicOp::Max:
      return ir::BinaryOp::Max;
    case ir::AtomicOp::Add:
    case ir::AtomicOp::Sub:
    case ir::AtomicOp::Xor:
    case ir::AtomicOp::Exchange:
    case ir::AtomicOp::CompareExchange:
      return std::nullopt;
  }
  return std::nullopt;
}

std::vector<ir::BufferId> changed_buffers(const ir::Program& program) {
  const ir::Effects effects = ir::effects_of(program, program.entry());
  std::vector<ir::BufferId> changed;
  std::ranges::set_union(effects.writes, effects.atomics, std::back_inserter(changed));
  std::erase_if(
      changed, [&](ir::BufferId id) { return program.buffer(id).access == ir::Access::Workgroup; });
  return changed;
}

bool values_are_bytes(const ir::BufferDecl& buffer, bool fresh_outputs) {
  const bool has_forms = ir::is_float(buffer.element) || buffer.element == Type::Bool;
  return !has_forms || (fresh_outputs && ir::role_of(buffer) == ir::Role::Output);
}

ChangeReports find_change_reports(const ir::Program& program,
                                  const std::vector<ir::BufferId>& evolving,
                                  const GridSyncOptions& options) {
  ChangeReports reports;
  reports.nodes.assign(program.nodes().size(), false);
  reports.before.assign(program.nodes().size(), ir::kNone);
  const auto& size = program.workgroup_size();
  const bool is_line = options.one_dimensional && size[1] * size[2] == 1;

  std::vector<bool> is_own_place(program.vars().size(), false);  // names for `invocation.x`
  const auto own_place = [&](ir::ExprId id) {
    const ir::Expr& expr = program.expr(id);
    if (expr.kind == ir::ExprKind::InvocationId) return is_line && expr.aux == 0;
    return expr.kind == ir::ExprKind::Var && is_own_place[expr.ref];
  };
  std::vector<Changes> changes(program.buffers().size());
  LoadedValues loaded(program);
  NodeId loop_end = 0;
  for (NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const ir::Node& node = program.node(id);
    loaded.enter(id);
    const bool is_deep = loaded.depth() > kDeepest;
    if (node.kind == NodeKind::Loop) loop_end = std::max(loop_end, node.end);
    if (node.kind == NodeKind::Let && !program.var(node.ref).assigned) {
      const ir::Expr& value = program.expr(node.args[0]);
      is_own_place[node.ref] = own_place(node.args[0]);
      const bool is_load = value.kind == ir::ExprKind::Load;
      if (is_load && own_place(node.args[0] - 1)) loaded.note(value.ref, id);
    }
    const auto spoil = [&](ir::BufferId buffer) { changes[buffer].others = true; };
    if (node.kind == NodeKind::Store) {
      const bool is_alone = !is_deep && id >= loop_end && own_place(node.args[0]);
      if (is_alone) changes[node.ref].add_store(id);
      if (!is_alone) spoil(node.ref);
      reports.before[id] = loaded.let_of(node.ref, id);
    }
    const ir::NodeKindInfo& facts = ir::info(node.kind);
    const bool writes = facts.writes == ir::NodeMemory::Buffer && node.kind != NodeKind::Store;
    if (facts.issues_copy || writes) spoil(node.ref);
    for (const ir::ExprId row : program.rows_of_node(id)) {
      const ir::Expr& expr = program.expr(row);
      if (expr.kind != ir::ExprKind::Atomic) continue;
      const bool is_let = node.kind == NodeKind::Let && node.args[0] == row;
      const bool reports_it = is_let && !is_deep && one_way(expr.atomic()).has_value();
      if (reports_it) changes[expr.ref].add_atomic(id, expr.atomic());
      if (!reports_it) spoil(expr.ref);
    }
  }
  for (const ir::BufferId buffer : evolving) {
    const bool can = can_report(program.buffer(buffer), options.fresh_outputs);
    if (!can || changes[buffer].others || changes[buffer].reporting.empty()) continue;
    for (const NodeId id : changes[buffer].reporting) reports.nodes[id] = true;
    reports.buffers.push_back(buffer);
  }
  return reports;
}

}  // namespace felsite::dispatch
