#include "dispatch/change_reports.h"

#include <algorithm>
#include <array>

namespace felsite::dispatch {
namespace {

using ir::NodeId;
using ir::NodeKind;
using ir::Type;

// Types whose old value a store can compare with the new one: narrow elements are cut when they are
// stored, and the half floats have no bits of their own in the IR.
bool can_report(const ir::BufferDecl& buffer) {
  constexpr std::array kTypes{Type::U32, Type::I32, Type::U64, Type::I64, Type::F32, Type::F64};
  return std::ranges::find(kTypes, buffer.element) != kTypes.end() && values_are_bytes(buffer);
}

}  // namespace

bool values_are_bytes(const ir::BufferDecl& buffer) {
  const bool has_forms = ir::is_float(buffer.element) || buffer.element == Type::Bool;
  return !has_forms || ir::role_of(buffer) == ir::Role::Output;
}

ChangeReports find_change_reports(const ir::Program& program,
                                  const std::vector<ir::BufferId>& evolving, bool one_dimensional) {
  ChangeReports reports;
  reports.stores.assign(program.nodes().size(), false);
  const auto& size = program.workgroup_size();
  if (!one_dimensional || size[1] * size[2] != 1) return reports;

  std::vector<bool> is_own_place(program.vars().size(), false);  // names for `invocation.x`
  const auto own_place = [&](ir::ExprId id) {
    const ir::Expr& expr = program.expr(id);
    if (expr.kind == ir::ExprKind::InvocationId) return expr.aux == 0;
    return expr.kind == ir::ExprKind::Var && is_own_place[expr.ref];
  };
  constexpr NodeId kSeveral = ir::kNone;
  constexpr NodeId kNoStore = ir::kNone - 1;
  std::vector<NodeId> only_store(program.buffers().size(), kNoStore);
  NodeId loop_end = 0;
  for (NodeId id = program.entry().begin; id < program.entry().end; ++id) {
    const ir::Node& node = program.node(id);
    if (node.kind == NodeKind::Loop) loop_end = std::max(loop_end, node.end);
    if (node.kind == NodeKind::Let && !program.var(node.ref).assigned) {
      is_own_place[node.ref] = own_place(node.args[0]);
    }
    const auto spoil = [&](ir::BufferId buffer) { only_store[buffer] = kSeveral; };
    if (node.kind == NodeKind::Store) {
      const bool once = only_store[node.ref] == kNoStore && id >= loop_end;
      only_store[node.ref] = once && own_place(node.args[0]) ? id : kSeveral;
    }
    if (node.kind == NodeKind::AsyncLoad || node.kind == NodeKind::AsyncStore) spoil(node.ref);
    for (const ir::ExprId root : program.expressions(id)) {
      for (ir::ExprId row = program.first_row(root); row <= root; ++row) {
        if (program.expr(row).kind == ir::ExprKind::Atomic) spoil(program.expr(row).ref);
      }
    }
  }
  for (const ir::BufferId buffer : evolving) {
    const NodeId store = only_store[buffer];
    if (store >= kNoStore || !can_report(program.buffer(buffer))) continue;
    reports.stores[store] = true;
    reports.buffers.push_back(buffer);
  }
  return reports;
}

}  // namespace felsite::dispatch
