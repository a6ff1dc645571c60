// Workgroup memory starts as zeros. Where a program fills a buffer before anything else can see it,
// nobody can tell, and the zeroing with its barrier is left out.

#include "codegen/plan/plan.h"

namespace felsite::codegen {
namespace {

using ir::ExprKind;
using ir::NodeId;
using ir::NodeKind;

enum class Fate : std::uint8_t { Open, Filled, Seen };

class FirstAccesses {
 public:
  FirstAccesses(const ir::Program& program, ir::NodeRange nodes)
      : program_(program),
        fates_(program.buffers().size(), Fate::Open),
        local_x_(program.vars().size(), false) {
    follow(nodes);
  }

  bool is_filled(ir::BufferId buffer) const { return fates_[buffer] == Fate::Filled; }

 private:
  // Goes through statements that every invocation runs, in their order. False where that ends.
  bool follow(ir::NodeRange nodes) {
    for (NodeId id = nodes.begin; id < nodes.end; id = program_.node(id).end) {
      const NodeKind kind = program_.node(id).kind;
      if (kind == NodeKind::Block || kind == NodeKind::Region) {
        if (!follow(program_.then_body(id))) return false;
        continue;
      }
      see_all({id, program_.node(id).end});
      if (kind == NodeKind::Let) name(id);
      if (kind == NodeKind::Store) store(id);
      // From here on some invocations may be missing, or come more than once.
      if (kind != NodeKind::Store && kind != NodeKind::Let && kind != NodeKind::Assign)
        return false;
    }
    return true;
  }

  // Marks what the nodes read, or change other than by a plain store.
  void see_all(ir::NodeRange nodes) {
    for (NodeId id = nodes.begin; id < nodes.end; ++id) {
      for (const ir::ExprId root : program_.expressions(id)) {
        for (ir::ExprId row = program_.first_row(root); row <= root; ++row) {
          const ir::Expr& expr = program_.expr(row);
          if (expr.kind == ExprKind::Load || expr.kind == ExprKind::Atomic) see(expr.ref);
        }
      }
    }
  }

  void see(ir::BufferId buffer) {
    if (fates_[buffer] == Fate::Open) fates_[buffer] = Fate::Seen;
  }

  void store(NodeId id) {
    const ir::Node& node = program_.node(id);
    if (fates_[node.ref] != Fate::Open) return;
    const auto& size = program_.workgroup_size();
    const bool covers = is_local_x(node.args[0]) && size[1] * size[2] == 1 &&
                        program_.buffer(node.ref).count <= size[0];
    fates_[node.ref] = covers ? Fate::Filled : Fate::Seen;
  }

  // `local.x`, or a name for it.
  bool is_local_x(ir::ExprId id) const {
    const ir::Expr& expr = program_.expr(id);
    if (expr.kind == ExprKind::LocalId) return expr.aux == 0;
    return expr.kind == ExprKind::Var && local_x_[expr.ref];
  }

  void name(NodeId let) {
    const ir::Node& node = program_.node(let);
    if (!program_.var(node.ref).assigned) local_x_[node.ref] = is_local_x(node.args[0]);
  }

  const ir::Program& program_;
  std::vector<Fate> fates_;    // by BufferId
  std::vector<bool> local_x_;  // by VarId: a name for `local.x`
};

}  // namespace

std::vector<ir::BufferId> buffers_to_zero(const ir::Program& program, ir::NodeRange nodes,
                                          const MemoryUse& use) {
  std::vector<ir::BufferId> buffers;
  if (use.workgroup_buffers.empty()) return buffers;
  const FirstAccesses first(program, nodes);
  for (const ir::BufferId id : use.workgroup_buffers) {
    if (!first.is_filled(id)) buffers.push_back(id);
  }
  return buffers;
}

}  // namespace felsite::codegen
