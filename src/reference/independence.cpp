#include "reference/independence.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "ir/analysis/effects.h"

namespace felsite::reference {
namespace {

using namespace ir;

// index = id * stride + offset, with offset < stride; indices of different workgroups are disjoint.
struct OwnIndex {
  ExprKind id;  // InvocationId or WorkgroupId
  std::uint64_t stride;
  std::uint64_t offset;
};

class Prover {
 public:
  Prover(const Program& program, Extent3 grid)
      : program_(program),
        grid_(grid),
        vars_(program.vars().size()),
        values_(program.exprs().size()) {}

  bool run() {
    if (!extends_on_one_axis()) return false;
    const Effects effects = effects_of(program_, program_.entry());
    const auto is_storage = [&](BufferId b) {
      return program_.buffer(b).access != Access::Workgroup;
    };
    if (std::ranges::any_of(effects.atomics, is_storage)) return false;
    written_.assign(program_.buffers().size(), false);
    for (const BufferId b : effects.writes) written_[b] = is_storage(b);
    owners_.assign(program_.buffers().size(), std::nullopt);
    for (NodeId id = program_.entry().begin; id < program_.entry().end; ++id) {
      if (!check(id)) return false;
    }
    return true;
  }

 private:
  bool extends_on_one_axis() {
    int axes = 0;
    const auto& size = program_.workgroup_size();
    for (std::uint8_t axis = 0; axis < 3; ++axis) {
      if (grid_[axis] > 1 || size[axis] > 1) {
        axis_ = axis;
        ++axes;
      }
    }
    return axes <= 1;
  }

  // Checks every access of a node, and records the value of its variable.
  bool check(NodeId id) {
    const Node& node = program_.node(id);
    const NodeKindInfo& facts = info(node.kind);
    const bool writes = facts.writes == NodeMemory::Buffer && node.kind != NodeKind::Store;
    if ((facts.issues_copy || writes) && is_written(node.ref)) return false;
    if (facts.reads == NodeMemory::Source && is_written(node.ref2)) return false;
    for (const ExprId row : program_.rows_of_node(id)) {
      values_[row] = own_index(row);
      const Expr& expr = program_.expr(row);
      if (expr.kind == ExprKind::Load && !access(expr.ref, expr.args[0])) return false;
    }
    if (node.kind == NodeKind::Store && !access(node.ref, node.args[0])) return false;
    if (node.kind == NodeKind::Let && !program_.var(node.ref).assigned) {
      vars_[node.ref] = values_[node.args[0]];
    }
    return true;
  }

  bool is_written(BufferId buffer) const { return written_[buffer]; }

  bool access(BufferId buffer, ExprId index) {
    if (!is_written(buffer)) return true;
    const std::optional<OwnIndex>& own = values_[index];
    if (!own) return false;
    std::optional<OwnIndex>& owner = owners_[buffer];
    if (!owner) owner = own;
    return owner->id == own->id && owner->stride == own->stride;
  }

  std::optional<std::uint64_t> literal(ExprId id) const {
    const Expr& expr = program_.expr(id);
    if (expr.kind != ExprKind::Literal || expr.type != Type::U32) return std::nullopt;
    return expr.literal_bits();
  }

  // No index may wrap around, or two workgroups could access the same element.
  bool fits(const OwnIndex& own) const {
    const std::uint64_t ids = own.id == ExprKind::WorkgroupId
                                  ? grid_[axis_]
                                  : std::uint64_t{grid_[axis_]} * program_.workgroup_size()[axis_];
    constexpr std::uint64_t kLimit = std::uint64_t{1} << 32;
    return own.stride > 0 && own.stride < kLimit && own.offset < own.stride &&
           (ids == 0 || own.stride <= kLimit / ids);
  }

  std::optional<OwnIndex> own_index(ExprId id) const {
    const Expr& expr = program_.expr(id);
    if (expr.kind == ExprKind::InvocationId || expr.kind == ExprKind::WorkgroupId) {
      const OwnIndex own{expr.kind, 1, 0};
      return expr.aux == axis_ && fits(own) ? std::optional(own) : std::nullopt;
    }
    if (expr.kind == ExprKind::Var) return vars_[expr.ref];
    if (expr.kind != ExprKind::Binary) return std::nullopt;
    const auto [a, b, unused] = expr.args;
    const bool literal_right = literal(b).has_value();
    const std::optional<OwnIndex>& base = values_[literal_right ? a : b];
    const std::optional<std::uint64_t> constant = literal(literal_right ? b : a);
    if (!base || !constant) return std::nullopt;
    OwnIndex own = *base;
    if (expr.binary() == BinaryOp::Mul) {
      own.stride *= *constant;
      own.offset *= *constant;
    } else if (expr.binary() == BinaryOp::Shl && literal_right && *constant < 32) {
      own.stride <<= *constant;
      own.offset <<= *constant;
    } else if (expr.binary() == BinaryOp::Add) {
      own.offset += *constant;
    } else {
      return std::nullopt;
    }
    return fits(own) ? std::optional(own) : std::nullopt;
  }

  const Program& program_;
  Extent3 grid_;
  std::uint8_t axis_ = 0;
  std::vector<bool> written_;                    // storage buffers only
  std::vector<std::optional<OwnIndex>> owners_;  // by BufferId: the form that all its indices share
  std::vector<std::optional<OwnIndex>> vars_;    // by VarId
  std::vector<std::optional<OwnIndex>> values_;  // by ExprId
};

}  // namespace

bool workgroups_are_independent(const Program& program, Extent3 grid) {
  const Facts& facts = program.facts();
  if (facts.has_grid_sync || facts.has_collectives) return false;
  return Prover(program, grid).run();
}

}  // namespace felsite::reference
