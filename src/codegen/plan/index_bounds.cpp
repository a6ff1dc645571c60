// Which indices are known to lie within their buffers, or at least far from where addresses wrap.
//
// Every u32 expression gets an interval, and, where it is some value plus a constant, that value
// and the constant. Conditions narrow the intervals and relate values to lengths in the scope they
// guard. Assigned variables are never known.
#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include "codegen/plan/plan.h"

namespace felsite::codegen {
namespace {

using ir::BinaryOp;
using ir::ExprId;
using ir::ExprKind;
using ir::NodeId;
using ir::NodeKind;

constexpr std::int64_t kMax = 0xFFFF'FFFFLL;
constexpr std::int64_t kSmall = 1LL << 28;  // times eight bytes this is still below 2^32

// What a u32 value is computed from: an id, or a variable that is never assigned.
using Base = std::uint64_t;
constexpr Base kNoBase = ~Base{0};

// A whole number; the u32 is what it is modulo 2^32.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = kMax;
  Base base = kNoBase;
  std::int64_t offset = 0;
  std::optional<ir::BufferId> length_of;  // the value is that length, plus the offset

  bool wraps() const { return low < 0 || high > kMax; }
};

Range exactly(std::int64_t value) { return {value, value, kNoBase, 0, {}}; }

class Prover {
 public:
  Prover(const ir::Program& program, ir::NodeRange nodes, const Capabilities& mask)
      : program_(program), mask_(mask), vars_(program.vars().size()) {
    bounds_.exprs.assign(program.exprs().size(), IndexBound::Unknown);
    bounds_.nodes.assign(program.nodes().size(), IndexBound::Unknown);
    walk(nodes);
  }

  IndexBounds take() { return std::move(bounds_); }

 private:
  // base + offset < length of the buffer, without wrapping.
  struct BelowLength {
    Base base;
    std::int64_t offset;
    ir::BufferId buffer;
  };
  struct Narrowed {
    Base base;
    std::int64_t low;
    std::int64_t high;
  };

  void walk(ir::NodeRange range) {
    const std::size_t lengths = below_.size();
    const std::size_t narrowed = narrowed_.size();
    for (NodeId id = range.begin; id < range.end; id = program_.node(id).end) node(id);
    below_.resize(lengths);
    narrowed_.resize(narrowed);
  }

  // The body of a construct, with what is known at its start.
  template <class Assume>
  void guarded(ir::NodeRange range, Assume assume) {
    const std::size_t lengths = below_.size();
    const std::size_t narrowed = narrowed_.size();
    assume();
    walk(range);
    below_.resize(lengths);
    narrowed_.resize(narrowed);
  }

  void node(NodeId id) {
    const ir::Node& n = program_.node(id);
    Range first;
    Range second;
    const auto roots = program_.expressions(id);
    if (!roots.empty()) first = visit(roots[0]);
    if (roots.size() > 1) second = visit(roots[1]);
    if (n.kind == NodeKind::Let) declare(n.ref, first, roots[0]);
    if (n.kind == NodeKind::Store) bounds_.nodes[id] = judge(first, n.ref);
    if (n.kind == NodeKind::Block || n.kind == NodeKind::Region) walk(program_.then_body(id));
    if (n.kind == NodeKind::If) branch(id, roots[0]);
    if (n.kind == NodeKind::Loop) loop(id, first, second);
  }

  void branch(NodeId id, ExprId condition) {
    guarded(program_.then_body(id), [&] { assume(condition, true); });
    guarded(program_.else_body(id), [&] { assume(condition, false); });
    // If control never leaves one arm, the condition of the other holds behind both.
    if (never_ends(program_.then_body(id))) assume(condition, false);
    if (never_ends(program_.else_body(id))) assume(condition, true);
  }

  void loop(NodeId id, const Range& from, const Range& to) {
    const ir::VarId variable = program_.node(id).ref;
    Range index{from.wraps() ? 0 : from.low, kMax, var_base(variable), 0, {}};
    if (!to.wraps()) index.high = std::max(to.high - 1, index.low);
    vars_[variable] = {index, ir::kNone};
    guarded(program_.then_body(id), [&] { assume_less(index, to); });
  }

  bool never_ends(ir::NodeRange body) const {
    NodeId last = ir::kNone;
    for (NodeId id = body.begin; id < body.end; id = program_.node(id).end) last = id;
    if (last == ir::kNone) return false;
    const NodeKind kind = program_.node(last).kind;
    return ir::info(kind).ends_invocation;
  }

  static Base var_base(ir::VarId variable) { return variable; }
  static Base id_base(ExprKind kind, std::uint32_t axis) {
    return (Base{1} << 40) | (static_cast<Base>(kind) << 8) | axis;
  }

  void declare(ir::VarId variable, Range range, ExprId value) {
    const ir::Variable& declared = program_.var(variable);
    if (declared.assigned) return;
    if (declared.type == ir::Type::U32 && range.base == kNoBase && !range.wraps() &&
        !range.length_of) {
      range.base = var_base(variable);
      range.offset = 0;
    }
    vars_[variable] = {range, value};
  }

  // The range of the tree's value. Where it is evaluated, the accesses in it are judged; where a
  // condition is examined again, more is assumed than was known when it was evaluated.
  enum class Accesses : std::uint8_t { Judge, Leave };
  Range visit(ExprId root, Accesses accesses = Accesses::Judge) {
    const std::size_t bottom = stack_.size();
    for (const ExprId id : program_.rows(root)) {
      const std::size_t arity = program_.operands(id).size();
      const std::size_t first = stack_.size() - arity;
      const std::span<const Range> operands = std::span(stack_).subspan(first);
      const ir::Expr& expr = program_.expr(id);
      const bool is_access = expr.kind == ExprKind::Load || expr.kind == ExprKind::Atomic;
      if (is_access && accesses == Accesses::Judge) {
        bounds_.exprs[id] = judge(operands[0], expr.ref);
      }
      const Range range = expr.type == ir::Type::U32 ? range_of(expr, operands) : Range{};
      stack_.resize(first);
      stack_.push_back(range);
    }
    const Range result = stack_.back();
    stack_.resize(bottom);
    return result;
  }

  Range range_of(const ir::Expr& expr, std::span<const Range> operands) const {
    const ExprKind kind = expr.kind;
    if (kind == ExprKind::Literal) return exactly(expr.args[0]);
    if (kind == ExprKind::Var) return vars_[expr.ref].range;
    if (kind == ExprKind::BufLen) return length(expr.ref);
    if (kind == ExprKind::Binary) return binary(expr.binary(), operands[0], operands[1]);
    if (kind == ExprKind::Select && !operands[1].wraps() && !operands[2].wraps()) {
      return plain(std::min(operands[1].low, operands[2].low),
                   std::max(operands[1].high, operands[2].high));
    }
    const std::int64_t size = program_.workgroup_size()[expr.aux % 3];
    const std::int64_t count = mask_.limits.workgroup_count[expr.aux % 3];
    if (kind == ExprKind::LocalId) return id_range(expr, size - 1);
    if (kind == ExprKind::WorkgroupId) return id_range(expr, count - 1);
    if (kind == ExprKind::InvocationId) return id_range(expr, count * size - 1);
    // The size is a specialization constant: it may differ from the program's.
    return {};
  }

  Range length(ir::BufferId buffer) const {
    const std::uint32_t count = program_.buffer(buffer).count;
    if (count != 0) return exactly(count);
    Range range;
    range.length_of = buffer;
    return range;
  }

  static Range id_range(const ir::Expr& expr, std::int64_t high) {
    return {0, std::min(high, kMax), id_base(expr.kind, expr.aux), 0, {}};
  }

  static Range plain(std::int64_t low, std::int64_t high) { return {low, high, kNoBase, 0, {}}; }

  Range binary(BinaryOp op, const Range& a, const Range& b) const {
    const bool a_is_constant = a.low == a.high;
    const bool b_is_constant = b.low == b.high;
    if (op == BinaryOp::Add || op == BinaryOp::WrappingAdd) {
      if (b_is_constant) return shifted(a, b.low);
      return a_is_constant ? shifted(b, a.low) : sum(narrowed(a), narrowed(b));
    }
    if (op == BinaryOp::Sub || op == BinaryOp::WrappingSub) {
      return b_is_constant ? shifted(a, -b.low) : sum(narrowed(a), negated(narrowed(b)));
    }
    // The other operations do not commute with wrapping modulo 2^32.
    if (a.wraps() || b.wraps()) return {};
    if (op == BinaryOp::Min) return plain(std::min(a.low, b.low), std::min(a.high, b.high));
    if (op == BinaryOp::Max) return plain(std::max(a.low, b.low), std::max(a.high, b.high));
    if (op == BinaryOp::BitAnd) return plain(0, std::min(a.high, b.high));
    if (op == BinaryOp::Mod) return plain(0, b.low == 0 ? a.high : std::min(a.high, b.high - 1));
    if (op == BinaryOp::Div && b.low != 0) return plain(a.low / b.high, a.high / b.low);
    if (op == BinaryOp::Mul && (b.high == 0 || a.high <= kMax / b.high)) {
      return plain(a.low * b.low, a.high * b.high);
    }
    if (op == BinaryOp::Shr && !b_is_constant) return plain(0, a.high);
    if (!b_is_constant) return {};
    const std::int64_t count = b.low & 31;
    if (op == BinaryOp::Shr) return plain(a.low >> count, a.high >> count);
    if (op == BinaryOp::Shl && a.high <= (kMax >> count)) {
      return plain(a.low << count, a.high << count);
    }
    return {};
  }

  // Sums stay whole numbers as long as they are not far off; what wraps is still known modulo 2^32.
  static Range shifted(Range a, std::int64_t by) {
    a.low += by;
    a.high += by;
    a.offset += by;
    if (a.low < -4 * kMax || a.high > 4 * kMax) return {};
    return a;
  }
  static Range negated(const Range& a) { return plain(-a.high, -a.low); }
  static Range sum(const Range& a, const Range& b) {
    const Range range = plain(a.low + b.low, a.high + b.high);
    if (range.low < -4 * kMax || range.high > 4 * kMax) return {};
    return range;
  }

  // Narrowed by what the conditions around it say about its base.
  Range narrowed(Range range) const {
    if (range.base == kNoBase) return range;
    for (const Narrowed& known : narrowed_) {
      if (known.base != range.base) continue;
      range.low = std::max(range.low, known.low + range.offset);
      range.high = std::min(range.high, known.high + range.offset);
    }
    return range;
  }

  IndexBound judge(const Range& index, ir::BufferId buffer) const {
    const Range range = narrowed(index);
    const std::uint32_t count = program_.buffer(buffer).count;
    if (count != 0 && range.low >= 0 && range.high < count) return IndexBound::Proven;
    if (range.base != kNoBase && range.low >= 0) {
      for (const BelowLength& known : below_) {
        const bool covers =
            known.base == range.base && known.buffer == buffer && range.offset <= known.offset;
        if (covers) return IndexBound::Proven;
      }
    }
    const bool small = range.low > -kSmall && range.high < kSmall;
    return small ? IndexBound::Small : IndexBound::Unknown;
  }

  // What holds where the condition has this truth.
  void assume(ExprId condition, bool truth) {
    std::vector<std::pair<ExprId, bool>> open{{condition, truth}};
    std::size_t followed = 0;
    while (!open.empty()) {
      const auto [id, holds] = open.back();
      open.pop_back();
      const ir::Expr& expr = program_.expr(id);
      if (expr.kind == ExprKind::Var) {
        // A condition with a name, which may be a name for another one.
        const ExprId value = vars_[expr.ref].value;
        if (value != ir::kNone && ++followed < 16) open.emplace_back(value, holds);
      } else if (expr.kind == ExprKind::Unary && expr.unary() == ir::UnaryOp::LogicalNot) {
        open.emplace_back(expr.args[0], !holds);
      } else if (expr.kind == ExprKind::Binary) {
        const BinaryOp op = expr.binary();
        if ((op == BinaryOp::And && holds) || (op == BinaryOp::Or && !holds)) {
          open.emplace_back(expr.args[0], holds);
          open.emplace_back(expr.args[1], holds);
        } else {
          assume_comparison(expr, holds);
        }
      }
    }
  }

  void assume_comparison(const ir::Expr& expr, bool holds) {
    if (program_.expr(expr.args[0]).type != ir::Type::U32) return;
    BinaryOp op = expr.binary();
    if (op != BinaryOp::Lt && op != BinaryOp::Le && op != BinaryOp::Gt && op != BinaryOp::Ge) {
      return;
    }
    const Range a = visit(expr.args[0], Accesses::Leave);
    const Range b = visit(expr.args[1], Accesses::Leave);
    // Where it does not hold, the opposite does.
    if (!holds) {
      op = op == BinaryOp::Lt   ? BinaryOp::Ge
           : op == BinaryOp::Le ? BinaryOp::Gt
           : op == BinaryOp::Gt ? BinaryOp::Le
                                : BinaryOp::Lt;
    }
    if (op == BinaryOp::Lt) assume_less(a, b);
    if (op == BinaryOp::Gt) assume_less(b, a);
    if (op == BinaryOp::Le) assume_at_most(a, b);
    if (op == BinaryOp::Ge) assume_at_most(b, a);
  }

  void assume_less(const Range& a, const Range& b) {
    const Range left = narrowed(a);
    const Range right = narrowed(b);
    if (left.wraps()) return;
    if (left.base != kNoBase && right.length_of && right.offset == 0) {
      know(BelowLength{left.base, left.offset, *right.length_of});
    }
    if (right.wraps()) return;
    if (left.base != kNoBase) {
      know(Narrowed{left.base, left.low - left.offset, right.high - 1 - left.offset});
    }
    if (right.base != kNoBase) {
      know(Narrowed{right.base, left.low + 1 - right.offset, right.high - right.offset});
    }
  }

  void assume_at_most(const Range& a, const Range& b) {
    const Range left = narrowed(a);
    const Range right = narrowed(b);
    if (left.wraps() || right.wraps()) return;
    if (left.base != kNoBase) {
      know(Narrowed{left.base, left.low - left.offset, right.high - left.offset});
    }
    if (right.base != kNoBase) {
      know(Narrowed{right.base, left.low - right.offset, right.high - right.offset});
    }
  }

  // Few facts matter at any place; a bound on them keeps the whole linear.
  static constexpr std::size_t kMaxFacts = 64;
  void know(BelowLength fact) {
    if (below_.size() < kMaxFacts) below_.push_back(fact);
  }
  void know(Narrowed fact) {
    if (narrowed_.size() < kMaxFacts) narrowed_.push_back(fact);
  }

  struct VarFacts {
    Range range;
    ExprId value = ir::kNone;
  };

  const ir::Program& program_;
  const Capabilities& mask_;
  IndexBounds bounds_;
  std::vector<VarFacts> vars_;
  std::vector<Range> stack_;
  std::vector<BelowLength> below_;
  std::vector<Narrowed> narrowed_;
};

}  // namespace

IndexBounds prove_indices(const ir::Program& program, ir::NodeRange nodes,
                          const Capabilities& mask) {
  return Prover(program, nodes, mask).take();
}

}  // namespace felsite::codegen
