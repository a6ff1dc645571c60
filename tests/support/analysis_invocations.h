// Runs generated programs of the kind Few one invocation at a time, and notes which values and
// which steps of control flow invocations turned out to share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "felsite/program.h"
#include "ir/analysis/uniformity.h"

namespace felsite::test {

struct Observed {
  std::vector<ir::Uniformity> exprs;    // by ExprId: at least this divergent
  std::vector<ir::Uniformity> control;  // by NodeId
  std::vector<bool> evaluated;          // by ExprId
};

class Observer {
 public:
  explicit Observer(const ir::Program& program) : program_(program) {
    seen_.exprs.assign(program.exprs().size(), ir::Uniformity::Grid);
    seen_.control.assign(program.nodes().size(), ir::Uniformity::Grid);
    seen_.evaluated.assign(program.exprs().size(), false);
    written_.assign(program.buffers().size(), false);
    for (const ir::Node& node : program.nodes()) {
      if (node.kind == ir::NodeKind::Store) written_[node.ref] = true;
    }
  }

  Observed run() {
    for (invocation_ = 0; invocation_ < kInvocations; ++invocation_) {
      vars_.assign(program_.vars().size(), 0);
      returned_[invocation_] = !body(program_.entry(), 1);
    }
    for (const auto& [key, row] : values_) compare_values(row);
    for (const auto& [key, row] : visits_) compare_visits(row);
    return std::move(seen_);
  }

 private:
  static constexpr std::uint32_t kGroup = 4;
  static constexpr std::uint32_t kInvocations = 3 * kGroup;
  static constexpr std::uint32_t kMaxTrips = 3;
  // One row in one trip of the loops around it; `who` as a mask of invocations.
  struct Instance {
    std::uint32_t id = 0;
    std::uint32_t who = 0;
    std::array<std::uint64_t, kInvocations> values{};
  };
  using Instances = std::unordered_map<std::uint64_t, Instance>;

  static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    a = (a ^ (b + 0x9E3779B97F4A7C15u)) * 0xBF58476D1CE4E5B9u;
    return a ^ (a >> 29);
  }
  void note(Instances& instances, std::uint32_t id, std::uint64_t trips, std::uint64_t value) {
    Instance& row = instances[mix(trips, id)];
    row.id = id;
    row.who |= 1u << invocation_;
    row.values[invocation_] = value;
  }

  std::uint64_t evaluate(ir::ExprId id, std::uint64_t trips) {
    std::vector<std::uint64_t> args;
    for (const ir::ExprId operand : program_.operands(id)) args.push_back(evaluate(operand, trips));
    const std::uint64_t result = apply(id, args);
    note(values_, id, trips, result);
    seen_.evaluated[id] = true;
    return result;
  }

  std::uint64_t apply(ir::ExprId id, const std::vector<std::uint64_t>& args) const {
    const ir::Expr& expr = program_.expr(id);
    if (expr.kind == ir::ExprKind::Literal) return expr.literal_bits();
    if (expr.kind == ir::ExprKind::Var) return vars_[expr.ref];
    if (expr.kind == ir::ExprKind::BufLen) return 5;
    if (expr.kind == ir::ExprKind::InvocationId) return invocation_;
    if (expr.kind == ir::ExprKind::LocalId) return invocation_ % kGroup;
    if (expr.kind == ir::ExprKind::WorkgroupId) return invocation_ / kGroup;
    if (expr.kind == ir::ExprKind::Load) {
      // Others may be writing it: everybody may see something else.
      const std::uint64_t luck = written_[expr.ref] ? invocation_ : 0;
      return mix(args[0] + 77, luck) % 5;
    }
    if (expr.kind == ir::ExprKind::Binary && expr.binary() == ir::BinaryOp::Add) {
      return static_cast<std::uint32_t>(args[0] + args[1]);
    }
    if (expr.kind == ir::ExprKind::Binary && expr.binary() == ir::BinaryOp::Lt) {
      return args[0] < args[1] ? 1 : 0;
    }
    FAIL("the generator makes no such expression");
    return 0;
  }

  // False once the invocation has returned.
  bool body(ir::NodeRange range, std::uint64_t trips) {
    for (ir::NodeId id = range.begin; id < range.end; id = program_.node(id).end) {
      const ir::Node& node = program_.node(id);
      note(visits_, id, trips, 0);
      std::vector<std::uint64_t> args;
      for (const ir::ExprId root : program_.expressions(id)) args.push_back(evaluate(root, trips));
      if (node.kind == ir::NodeKind::Return) return false;
      if (node.kind == ir::NodeKind::Let || node.kind == ir::NodeKind::Assign)
        vars_[node.ref] = args[0];
      if (node.kind == ir::NodeKind::Block || node.kind == ir::NodeKind::Region) {
        if (!body(program_.then_body(id), trips)) return false;
      }
      if (node.kind == ir::NodeKind::If) {
        if (!body(args[0] != 0 ? program_.then_body(id) : program_.else_body(id), trips))
          return false;
      }
      if (node.kind == ir::NodeKind::Loop) {
        for (std::uint64_t trip = 0; trip < kMaxTrips && args[0] + trip < args[1]; ++trip) {
          vars_[node.ref] = args[0] + trip;
          if (!body(program_.then_body(id), mix(trips, 1000 + trip))) return false;
        }
      }
    }
    return true;
  }

  static void raise(ir::Uniformity& state, bool same_group) {
    state = std::max(state, same_group ? ir::Uniformity::Divergent : ir::Uniformity::Workgroup);
  }
  void compare_values(const Instance& row) {
    for (std::uint32_t a = 0; a < kInvocations; ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const bool both = ((row.who >> a) & (row.who >> b) & 1u) != 0;
        if (both && row.values[a] != row.values[b])
          raise(seen_.exprs[row.id], a / kGroup == b / kGroup);
      }
    }
  }
  // An invocation that neither arrived nor returned took another branch than the others.
  void compare_visits(const Instance& row) {
    for (std::uint32_t a = 0; a < kInvocations; ++a) {
      for (std::uint32_t b = 0; b < kInvocations; ++b) {
        const bool came = ((row.who >> a) & 1u) != 0;
        const bool away = ((row.who >> b) & 1u) == 0 && !returned_[b];
        if (came && away) raise(seen_.control[row.id], a / kGroup == b / kGroup);
      }
    }
  }

  const ir::Program& program_;
  Observed seen_;
  std::vector<bool> written_;  // by BufferId
  Instances values_;
  Instances visits_;
  std::vector<std::uint64_t> vars_;
  std::array<bool, kInvocations> returned_{};
  std::uint32_t invocation_ = 0;
};

inline Observed observe(const ir::Program& program) { return Observer(program).run(); }

}  // namespace felsite::test
