#include "ir/analysis/workgroup_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"

namespace felsite::ir {
namespace {

// Workgroup memory starts as zeros. Where a program fills a buffer before anything else can see it,
// nobody can tell, and the zeroing with its barrier is left out.
enum class Fate : std::uint8_t { Open, Filled, Seen };

class FirstAccesses {
 public:
  FirstAccesses(const Program& program, NodeRange nodes)
      : program_(program),
        fates_(program.buffers().size(), Fate::Open),
        local_x_(program.vars().size(), false) {
    follow(nodes);
  }

  bool is_filled(BufferId buffer) const { return fates_[buffer] == Fate::Filled; }

 private:
  // Statements that every invocation runs, in their order. False where that ends.
  bool follow(NodeRange nodes) {
    for (NodeId id = nodes.begin; id < nodes.end; id = program_.node(id).end) {
      const NodeKind kind = program_.node(id).kind;
      if (kind == NodeKind::Block || kind == NodeKind::Region) {
        if (!follow(program_.then_body(id))) return false;
        continue;
      }
      see_all({id, program_.node(id).end});
      if (kind == NodeKind::Let) name(id);
      if (kind == NodeKind::Store) store(id);
      // From here on some invocations may not come along, or come again.
      if (kind != NodeKind::Store && kind != NodeKind::Let && kind != NodeKind::Assign)
        return false;
    }
    return true;
  }

  // What the nodes read, or change in another way than by a store of their own.
  void see_all(NodeRange nodes) {
    for (NodeId id = nodes.begin; id < nodes.end; ++id) {
      for (const ExprId row : program_.rows_of_node(id)) {
        const Expr& expr = program_.expr(row);
        if (expr.kind == ExprKind::Load || expr.kind == ExprKind::Atomic) see(expr.ref);
      }
    }
  }

  void see(BufferId buffer) {
    if (fates_[buffer] == Fate::Open) fates_[buffer] = Fate::Seen;
  }

  void store(NodeId id) {
    const Node& node = program_.node(id);
    if (fates_[node.ref] != Fate::Open) return;
    const auto& size = program_.workgroup_size();
    const bool covers = is_local_x(node.args[0]) && size[1] * size[2] == 1 &&
                        program_.buffer(node.ref).count <= size[0];
    fates_[node.ref] = covers ? Fate::Filled : Fate::Seen;
  }

  // `local.x`, or a name for it.
  bool is_local_x(ExprId id) const {
    const Expr& expr = program_.expr(id);
    if (expr.kind == ExprKind::LocalId) return expr.aux == 0;
    return expr.kind == ExprKind::Var && local_x_[expr.ref];
  }

  void name(NodeId let) {
    const Node& node = program_.node(let);
    if (!program_.var(node.ref).assigned) local_x_[node.ref] = is_local_x(node.args[0]);
  }

  const Program& program_;
  std::vector<Fate> fates_;    // by BufferId
  std::vector<bool> local_x_;  // by VarId: a name for `local.x`
};

}  // namespace

std::vector<BufferId> used_workgroup_buffers(const Program& program, const Effects& effects) {
  std::vector<BufferId> used;
  for (BufferId id = 0; id < program.buffers().size(); ++id) {
    if (program.buffer(id).access != Access::Workgroup) continue;
    const auto has = [&](const std::vector<BufferId>& list) {
      return std::ranges::binary_search(list, id);
    };
    if (has(effects.reads) || has(effects.writes) || has(effects.atomics)) used.push_back(id);
  }
  return used;
}

std::vector<BufferId> buffers_to_zero(const Program& program, NodeRange nodes,
                                      std::span<const BufferId> buffers) {
  std::vector<BufferId> zeroed;
  if (buffers.empty()) return zeroed;
  const FirstAccesses first(program, nodes);
  std::ranges::copy_if(buffers, std::back_inserter(zeroed),
                       [&](BufferId id) { return !first.is_filled(id); });
  return zeroed;
}

WorkgroupBytes workgroup_bytes(const Program& program) {
  WorkgroupBytes memory;
  for (const BufferDecl& buffer : program.buffers()) {
    if (buffer.access != Access::Workgroup) continue;
    const std::uint64_t bytes = info(buffer.element).bytes;
    memory.roomy += buffer.count * (bytes < 4 ? 4 : bytes);
    memory.packed += (buffer.count * bytes + 3) / 4 * 4;
  }
  return memory;
}

Result<void> check_workgroup(const Program& program, const WorkgroupLimits& limits) {
  constexpr const char* kSmaller = "give the program a smaller workgroup size.";
  const auto refuse = [&](std::string_view what, std::uint64_t requested, std::uint64_t available,
                          const char* fix) {
    return std::unexpected(base::over_limit(what, requested, available, fix, program.name()));
  };
  std::uint64_t invocations = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t extent = program.workgroup_size()[axis];
    invocations *= extent;
    if (extent > limits.size[axis]) {
      return refuse(fmt::format("invocations of a workgroup along {}", "xyz"[axis]), extent,
                    limits.size[axis], kSmaller);
    }
  }
  if (invocations > limits.invocations) {
    return refuse("invocations in a workgroup", invocations, limits.invocations, kSmaller);
  }
  const std::uint64_t bytes = workgroup_bytes(program).packed;
  if (bytes > limits.bytes) {
    return refuse("bytes of workgroup memory", bytes, limits.bytes,
                  "give the workgroup buffers fewer elements.");
  }
  return {};
}

}  // namespace felsite::ir
