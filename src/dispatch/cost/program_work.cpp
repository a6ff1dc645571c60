#include "dispatch/cost/program_work.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/walk.h"

namespace felsite::dispatch {
namespace {

using ir::BinaryOp;
using ir::ExprKind;
using ir::NodeKind;
using ir::Type;
using ir::UnaryOp;

// What an operation costs that no device has itself, in operations that it has. They stand for the
// instructions that the lowering writes.
constexpr double kDivision = 12;  // of integers, and the test for zero
constexpr double kExactFma = 150;
constexpr double kExactDivision = 40;  // of floats, square roots and reciprocals too
constexpr double kExactFloat = 3;      // to flush subnormals and settle NaNs
constexpr double kFunction = 60;
constexpr double kExactFunction = 250;
constexpr double kNativeWide = 2;    // 64-bit integers where the device has them
constexpr double kEmulatedWide = 6;  // pairs of words
constexpr double kWideDivision = 100;
constexpr double kSubgroup = 8;  // what lanes exchange

double limited(double value) { return std::min(value, kMostWork); }

class WorkCounter {
 public:
  WorkCounter(const ir::Program& program, const Extent3& grid, const WorkFacts& facts)
      : program_(program),
        facts_(facts),
        is_exact_(program.float_mode() == ir::FloatMode::Exact),
        invocations_(volume(grid) * volume(program.workgroup_size())),
        certain_(program, {.lengths = {facts.lengths.begin(), facts.lengths.end()}}, grid),
        likely_(program,
                {.lengths = {facts.lengths.begin(), facts.lengths.end()},
                 .contents = facts.contents,
                 .in_the_middle = true},
                grid),
        variables_(program.vars().size()) {
    for (const ir::OpDecl& op : program.ops()) of_ops_.push_back(count_op(op));
  }

  ProgramWork run() {
    count(program_.entry());
    return std::move(work_);
  }

 private:
  // Of what a body does, how often it runs in an invocation.
  struct Scope {
    double times = 1;
    double share = 1;  // of the lanes: a condition that differs between them halves it
    bool is_resolved = true;
  };

  struct Variable {
    ir::NodeId declared = 0;
    double times = 0;
    bool is_memory = false;  // another evaluation could give another value
  };

  static double volume(const Extent3& extents) {
    return double(extents[0]) * double(extents[1]) * double(extents[2]);
  }

  void count(ir::NodeRange range) {
    std::vector<Scope> scopes{{}};
    for (ir::Walk walk(program_, range); walk.next();) {
      const ir::NodeId id = walk.id();
      const ir::Node& node = program_.node(id);
      switch (walk.step()) {
        case ir::Walk::Step::Leaf:
          add_leaf(id, scopes.back());
          break;
        case ir::Walk::Step::Enter:
          add_expressions(id, scopes.back());
          scopes.push_back(body_of(id, scopes.back()));
          break;
        case ir::Walk::Step::Else:
          scopes.back() = else_arm(node, scopes[scopes.size() - 2]);
          break;
        case ir::Walk::Step::Leave:
          scopes.pop_back();
          break;
      }
    }
  }

  void add_leaf(ir::NodeId id, const Scope& scope) {
    const ir::Node& node = program_.node(id);
    const ir::NodeKindInfo& kind = ir::info(node.kind);
    add_expressions(id, scope);
    if (node.kind == NodeKind::Let) declare(id, scope.times);
    if (kind.reads != ir::NodeMemory::None) add(work_.accesses, scope.times);
    if (kind.writes != ir::NodeMemory::None) add(work_.accesses, scope.times);
    if (ir::orders_grid(node)) {
      add(work_.grid_barriers, scope.times);
      work_.is_resolved = work_.is_resolved && scope.is_resolved;
      work_.ends_with_barrier = true;
      last_barrier_ = id;
      return;
    }
    if (node.kind == NodeKind::Barrier) add(work_.local_barriers, scope.times);
    if (scope.times > 0) work_.ends_with_barrier = false;
  }

  Scope body_of(ir::NodeId id, const Scope& around) {
    const ir::Node& node = program_.node(id);
    if (node.kind == NodeKind::If) {
      // Invocations run together, so both arms count unless all of them take one.
      const auto known = certain_.value(node.args[0]);
      return {known && known->bits == 0 ? 0 : around.times, known ? around.share : around.share / 2,
              around.is_resolved && known.has_value()};
    }
    if (node.kind != NodeKind::Loop) return around;
    const bool is_certain =
        certain_.value(node.args[0]).has_value() && certain_.value(node.args[1]).has_value();
    const double trips = trips_of(id);
    add(work_.trips, around.times * trips);
    return {limited(around.times * trips), around.share, around.is_resolved && is_certain};
  }

  Scope else_arm(const ir::Node& node, const Scope& around) const {
    const auto known = certain_.value(node.args[0]);
    return {known && known->bits != 0 ? 0 : around.times, known ? around.share : around.share / 2,
            around.is_resolved && known.has_value()};
  }

  double trips_of(ir::NodeId id) {
    const ir::Node& node = program_.node(id);
    const auto from = likely_.value(node.args[0]);
    const auto to = likely_.value(node.args[1]);
    double first = from ? double(from->bits) : 0;
    double trips = kAssumedTrips;
    if (from && to) {
      trips = std::max(double(to->bits) - double(from->bits), 0.0);
    } else if (const auto shared = elements_shared(id)) {
      trips = *shared;
      assume("A loop over a part of a buffer takes its share of the elements, one at least.");
    } else {
      assume(fmt::format("A loop whose bounds are not known takes {:.0f} trips.", kAssumedTrips));
    }
    const double middle = std::min(first + trips / 2, double(UINT32_MAX));
    const auto variable = ir::literal(static_cast<std::uint32_t>(middle));
    likely_.set(node.ref, variable);
    certain_.set(node.ref,
                 variable);  // the host counts trips, so they are as certain as the bounds
    return trips;
  }

  // If the loop's variable is the place of an element in a long buffer, the invocations share its
  // elements between them: lists of neighbours are stored like that.
  std::optional<double> elements_shared(ir::NodeId loop) const {
    if (facts_.lengths.empty()) return std::nullopt;
    const ir::Node& node = program_.node(loop);
    for (ir::NodeId id = loop + 1; id < node.end; ++id) {
      for (const ir::ExprId row : program_.rows_of_node(id)) {
        const ir::Expr& load = program_.expr(row);
        if (load.kind != ExprKind::Load) continue;
        const ir::Expr& index = program_.expr(program_.operands(row).front());
        if (index.kind != ExprKind::Var || index.ref != node.ref) continue;
        if (program_.buffer(load.ref).access == ir::Access::Workgroup) continue;
        return std::max(double(facts_.lengths[load.ref]) / std::max(invocations_, 1.0), 1.0);
      }
    }
    return std::nullopt;
  }

  void assume(std::string sentence) {
    auto& known = work_.assumptions;
    if (std::ranges::find(known, sentence) == known.end()) known.push_back(std::move(sentence));
  }

  void declare(ir::NodeId id, double times) {
    const ir::Node& node = program_.node(id);
    certain_.declare(node);
    likely_.declare(node);
    Variable& variable = variables_[node.ref];
    variable = {id, times, program_.var(node.ref).assigned};
    for (const ir::ExprId row : program_.rows_of_node(id)) {
      const ir::Expr& expr = program_.expr(row);
      const bool is_pure = expr.kind == ExprKind::Var
                               ? !variables_[expr.ref].is_memory
                               : ir::info(expr.kind).purity == ir::Purity::Pure;
      variable.is_memory = variable.is_memory || !is_pure;
    }
  }

  // Its first use behind a barrier that it was declared before.
  void use(ir::VarId id) {
    Variable& variable = variables_[id];
    if (!variable.is_memory || last_barrier_ == ir::kNone || variable.declared > last_barrier_) {
      return;
    }
    add(work_.kept_values, variable.times);
    variable.is_memory = false;
  }

  // A subgroup does an atomic lane by lane, and everything else for all lanes at once.
  void add_expressions(ir::NodeId id, const Scope& scope) {
    for (const ir::ExprId row : program_.rows_of_node(id)) {
      const ir::Expr& expr = program_.expr(row);
      if (expr.kind == ExprKind::Var) use(expr.ref);
      if (expr.kind == ExprKind::Load) {
        add(work_.accesses, scope.times);
      } else if (expr.kind == ExprKind::Atomic) {
        add(work_.atomics, scope.times * scope.share);
      } else {
        add(work_.operations, scope.times * operations_of(expr));
      }
    }
  }

  double operations_of(const ir::Expr& expr) const {
    switch (expr.kind) {
      case ExprKind::Literal:
      case ExprKind::Var:
      case ExprKind::BufLen:
      case ExprKind::InvocationId:
      case ExprKind::WorkgroupId:
      case ExprKind::LocalId:
      case ExprKind::NumWorkgroups:
      case ExprKind::WorkgroupSize:
      case ExprKind::SubgroupLocalId:
      case ExprKind::SubgroupSize:
      case ExprKind::Bitcast:
      case ExprKind::Load:
      case ExprKind::Atomic:
        return 0;
      case ExprKind::Binary:
        return of_binary(expr.binary(), operand_type(expr));
      case ExprKind::Unary:
        return of_unary(expr.unary(), operand_type(expr));
      case ExprKind::Select:
      case ExprKind::Cast:
        return width(expr.type);
      case ExprKind::Fma:
        return is_exact_ && ir::kFloatTypes.has(expr.type) ? kExactFma : width(expr.type);
      case ExprKind::SubgroupBallot:
      case ExprKind::SubgroupShuffle:
      case ExprKind::SubgroupReduce:
        return kSubgroup;
      case ExprKind::Call:
        return expr.ref < of_ops_.size() ? of_ops_[expr.ref] : 1;
    }
    return 1;
  }

  Type operand_type(const ir::Expr& expr) const { return program_.expr(expr.args[0]).type; }

  static bool is_wide(Type type) {
    return ir::kIntegerTypes.has(type) && ir::info(type).bytes == 8;
  }

  double width(Type type) const {
    if (is_wide(type)) return facts_.has_int64 ? kNativeWide : kEmulatedWide;
    return is_exact_ && ir::kFloatTypes.has(type) ? kExactFloat : 1;
  }

  double of_binary(BinaryOp op, Type type) const {
    if (op != BinaryOp::Div && op != BinaryOp::Mod) return width(type);
    if (ir::kFloatTypes.has(type)) return is_exact_ ? kExactDivision : 4;
    return is_wide(type) ? kWideDivision : kDivision;
  }

  double of_unary(UnaryOp op, Type type) const {
    if (ir::info(op).is_function) return is_exact_ ? kExactFunction : kFunction;
    const bool is_root =
        op == UnaryOp::Sqrt || op == UnaryOp::InverseSqrt || op == UnaryOp::Reciprocal;
    if (is_root) return is_exact_ ? kExactDivision : 4;
    return width(type);
  }

  // Operations see no memory; a loop in one is counted as if nothing of it were known.
  double count_op(const ir::OpDecl& op) {
    double sum = 0;
    std::vector<double> times{1};
    for (ir::Walk walk(program_, op.body); walk.next();) {
      const bool is_loop = program_.node(walk.id()).kind == NodeKind::Loop;
      if (walk.step() == ir::Walk::Step::Leave) {
        times.pop_back();
        continue;
      }
      if (walk.step() == ir::Walk::Step::Else) continue;
      for (const ir::ExprId row : program_.rows_of_node(walk.id())) {
        sum = limited(sum + times.back() * operations_of(program_.expr(row)));
      }
      if (walk.step() == ir::Walk::Step::Enter) {
        times.push_back(is_loop ? limited(times.back() * trips_of(walk.id())) : times.back());
      }
    }
    for (const ir::ExprId row : program_.rows(op.result)) {
      sum = limited(sum + operations_of(program_.expr(row)));
    }
    return sum;
  }

  static void add(double& sum, double more) { sum = limited(sum + more); }

  const ir::Program& program_;
  const WorkFacts& facts_;
  const bool is_exact_;
  const double invocations_;
  HostValues certain_;
  HostValues likely_;
  std::vector<double> of_ops_;       // by OpId
  std::vector<Variable> variables_;  // by VarId
  ir::NodeId last_barrier_ = ir::kNone;
  ProgramWork work_;
};

}  // namespace

ProgramWork count_work(const ir::Program& program, const Extent3& grid, const WorkFacts& facts) {
  return WorkCounter(program, grid, facts).run();
}

}  // namespace felsite::dispatch
