// Checks names, types and access in expressions.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/words.h"
#include "felsite/spelling.h"
#include "ir/check/validation.h"
#include "ir/text/words.h"

namespace felsite::ir {
namespace {

std::string list_types(TypeSet set) {
  std::string text;
  for (const TypeInfo& row : kTypes) {
    if (row.type != Type::None && set.has(row.type)) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", row.name);
    }
  }
  return text;
}

class ExpressionChecker {
 public:
  ExpressionChecker(const Program& program, Report& report) : program_(program), report_(report) {}

  void run() {
    OpId op = 0;
    for (ExprId id = 0; id < program_.exprs().size(); ++id) {
      // Operations come first, each ending with its result.
      while (op < program_.ops().size() && id > program_.ops()[op].result) ++op;
      op_ = op < program_.ops().size() ? std::optional(op) : std::nullopt;
      check(id);
    }
  }

 private:
  Type type(ExprId id) const { return program_.expr(id).type; }
  std::string shown(ExprId id) const { return report_.shown(id); }
  std::string_view type_name(ExprId id) const { return info(type(id)).name; }
  // Whether an operand already has a finding; each mistake is reported once.
  bool poisoned(ExprId id) const {
    return std::ranges::any_of(program_.operands(id),
                               [&](ExprId operand) { return type(operand) == Type::None; });
  }

  void check(ExprId id);
  void check_names(ExprId id);
  std::vector<std::string_view> op_names() const;
  std::vector<std::string_view> variable_names() const;
  void check_types(ExprId id);
  void check_binary(ExprId id);
  void check_atomic(ExprId id);
  void check_call(ExprId id);
  void same_types(ExprId a, ExprId b, ExprId at);
  void not_allowed(ExprId id, std::string_view name, Type given, TypeSet allowed) {
    report_.expr(FindingCode::TypeNotAllowed, id,
                 fmt::format("`{}` is not defined on {}.", name, info(given).name),
                 fmt::format("cast the operand to one of: {}.", list_types(allowed)));
  }

  const Program& program_;
  Report& report_;
  std::optional<OpId> op_;  // the operation whose body contains the expression
};

void ExpressionChecker::same_types(ExprId a, ExprId b, ExprId at) {
  report_.expr(
      FindingCode::TypeMismatch, at,
      fmt::format("`{}` is {}, but `{}` is {}.", shown(a), type_name(a), shown(b), type_name(b)),
      fmt::format("cast one of them, as in `{}({})`: casts are explicit.", type_name(a), shown(b)));
}

void ExpressionChecker::check_names(ExprId id) {
  const Expr& expr = program_.expr(id);
  const Names named = info(expr.kind).names;
  if (named == Names::Nothing || is_resolved(expr.ref)) return;
  const std::string_view name = program_.name(expr.ref & ~kUnresolved);
  const auto hint = [&](auto candidates) {
    return report_.wants_hint() ? did_you_mean(name, candidates()) : std::string();
  };
  if (named == Names::Buffer) {
    report_.expr(FindingCode::UnknownBuffer, id,
                 fmt::format("There is no buffer `{}`.{}", name.substr(0, 60),
                             hint([&] { return buffer_names(program_); })),
                 "declare the buffer, or correct its name.");
  } else if (named == Names::Operation) {
    report_.expr(FindingCode::UnknownOperation, id,
                 fmt::format("There is no operation `{}`.{}", name.substr(0, 60),
                             hint([&] { return op_names(); })),
                 "declare it with `op` before it is used, or correct its name.");
  } else if (!report_.full() && program_.find_buffer(name).has_value()) {
    report_.expr(FindingCode::UnknownVariable, id,
                 fmt::format("`{}` is a buffer, not a variable.", name),
                 fmt::format("read an element, as in `{}[0]`.", name));
  } else {
    report_.expr(FindingCode::UnknownVariable, id,
                 fmt::format("No variable `{}` is visible here.{}", name.substr(0, 60),
                             hint([&] { return variable_names(); })),
                 "declare it with `let` in this scope or an outer one.");
  }
}

std::vector<std::string_view> ExpressionChecker::op_names() const {
  std::vector<std::string_view> names;
  // The program's own operations come first, but leave room for all built-in ones.
  const std::size_t most = kMaxCandidates - all_words().size();
  for (const OpDecl& op : program_.ops().first(std::min(program_.ops().size(), most))) {
    names.push_back(program_.name(op.name));
  }
  for (const Word& word : all_words()) names.push_back(word.text);
  return names;
}

std::vector<std::string_view> ExpressionChecker::variable_names() const {
  std::vector<std::string_view> names;
  for (const Variable& var :
       program_.vars().first(std::min(program_.vars().size(), kMaxCandidates))) {
    names.push_back(program_.name(var.name));
  }
  return names;
}

void ExpressionChecker::check(ExprId id) {
  const Expr& expr = program_.expr(id);
  check_names(id);
  if (op_) {
    const DependsOn depends_on = info(expr.kind).depends_on;
    if (depends_on != DependsOn::Operands && depends_on != DependsOn::Variable) {
      report_.expr(
          FindingCode::NotAllowedInOp, id,
          fmt::format("An operation computes from its parameters only; `{}` does not.", shown(id)),
          "pass the value in as a parameter.");
    }
  }
  if (!poisoned(id)) check_types(id);
}

void ExpressionChecker::check_types(ExprId id) {
  const Expr& expr = program_.expr(id);
  switch (expr.kind) {
    case ExprKind::Load:
      report_.expect(expr.args[0], Type::U32, "An index");
      if (is_resolved(expr.ref) && program_.buffer(expr.ref).access == Access::WriteOnly) {
        report_.expr(
            FindingCode::BadAccess, id,
            fmt::format("`{}` is writeonly and cannot be read.", program_.buffer(expr.ref).name),
            "declare it readwrite.");
      }
      return;
    case ExprKind::InvocationId:
    case ExprKind::WorkgroupId:
    case ExprKind::LocalId:
    case ExprKind::NumWorkgroups:
    case ExprKind::WorkgroupSize:
      if (expr.aux > 2) {
        report_.expr(FindingCode::LiteralOutOfRange, id,
                     fmt::format("There is no axis {}.", unsigned(expr.aux)),
                     "use axis 0, 1 or 2.");
      }
      return;
    case ExprKind::Binary:
      return check_binary(id);
    case ExprKind::Unary:
      if (expr.type == Type::None) {
        const UnaryOpInfo& row = info(expr.unary());
        not_allowed(id, row.name, type(expr.args[0]), row.rule.operands);
      }
      return;
    case ExprKind::Select:
      report_.expect(expr.args[0], Type::Bool, "The condition of `select`");
      if (expr.type == Type::None) same_types(expr.args[1], expr.args[2], id);
      return;
    case ExprKind::Cast:
      if (!kValueTypes.has(expr.type)) {
        report_.expr(FindingCode::BadCast, id, "A cast needs a target type.", "name a type.");
      }
      return;
    case ExprKind::Bitcast: {
      const Type from = type(expr.args[0]);
      const bool fits = info(from).bytes == info(expr.type).bytes && from != Type::Bool &&
                        expr.type != Type::Bool && expr.type != Type::None;
      if (!fits) {
        report_.expr(
            FindingCode::BadCast, id,
            fmt::format("{} cannot be reinterpreted as {}.", info(from).name, info(expr.type).name),
            "bitcast between types of one width; bool converts with a cast.");
      }
      return;
    }
    case ExprKind::Fma:
      if (expr.type != Type::None) return;
      if (type(expr.args[0]) != type(expr.args[1])) {
        same_types(expr.args[0], expr.args[1], id);
      } else if (type(expr.args[1]) != type(expr.args[2])) {
        same_types(expr.args[1], expr.args[2], id);
      } else {
        not_allowed(id, "fma", type(expr.args[0]), kFloatTypes);
      }
      return;
    case ExprKind::Atomic:
      return check_atomic(id);
    case ExprKind::SubgroupBallot:
      return report_.expect(expr.args[0], Type::Bool, "The operand of `subgroup_ballot`");
    case ExprKind::SubgroupShuffle:
      return report_.expect(expr.args[1], Type::U32, "The lane of `subgroup_shuffle`");
    case ExprKind::SubgroupReduce:
      if (expr.type == Type::None) {
        const ReduceOpInfo& row = info(expr.reduce());
        not_allowed(id, fmt::format("subgroup_{}", row.name), type(expr.args[0]), row.operands);
      }
      return;
    case ExprKind::Call:
      return check_call(id);
    case ExprKind::Literal:
      if (!kValueTypes.has(expr.type)) {
        report_.expr(FindingCode::TypeNotAllowed, id, "A literal has no type.", "give it a type.");
      }
      return;
    case ExprKind::Var:
    case ExprKind::BufLen:
    case ExprKind::SubgroupLocalId:
    case ExprKind::SubgroupSize:
      return;
  }
}

void ExpressionChecker::check_binary(ExprId id) {
  const Expr& expr = program_.expr(id);
  const BinaryOpInfo& row = info(expr.binary());
  const auto [a, b, unused] = expr.args;
  if (type(a) != type(b)) return same_types(a, b, id);
  if (expr.type == Type::None) return not_allowed(id, row.name, type(a), row.rule.operands);
  const bool divides = expr.binary() == BinaryOp::Div || expr.binary() == BinaryOp::Mod;
  const Expr& divisor = program_.expr(b);
  if (divides && kIntegerTypes.has(type(b)) && divisor.kind == ExprKind::Literal &&
      divisor.literal_bits() == 0) {
    report_.expr(FindingCode::ZeroDivisor, id, fmt::format("`{}` divides by zero.", shown(id)),
                 "divide by something else; x/0 has a defined value, but never the one meant.");
  }
}

void ExpressionChecker::check_atomic(ExprId id) {
  const Expr& expr = program_.expr(id);
  const AtomicOpInfo& row = info(expr.atomic());
  report_.expect(expr.args[0], Type::U32, "An index");
  if (!info(expr.ordering()).on_atomic) {
    report_.expr(FindingCode::BadOrdering, id,
                 fmt::format("`{}` is no ordering of an atomic.", info(expr.ordering()).name),
                 "use relaxed, acquire, release, acq_rel or seq_cst.");
  }
  if (!is_resolved(expr.ref)) return;
  const BufferDecl& buffer = program_.buffer(expr.ref);
  if (buffer.access != Access::ReadWrite && buffer.access != Access::Workgroup) {
    report_.expr(FindingCode::BadAtomic, id,
                 fmt::format("`{}` is {}; atomics work on readwrite and workgroup buffers.",
                             buffer.name, to_string(buffer.access)),
                 "declare it readwrite.");
  }
  if (!row.elements.has(buffer.element)) {
    report_.expr(FindingCode::BadAtomic, id,
                 fmt::format("`{}` is not defined on elements of type {}.", row.name,
                             info(buffer.element).name),
                 fmt::format("use a buffer of one of: {}.", list_types(row.elements)));
    return;
  }
  for (const ExprId operand : program_.operands(id).subspan(1)) {
    report_.expect(operand, buffer.element, "An operand of the atomic");
  }
  const Expr& index = program_.expr(expr.args[0]);
  if (index.kind == ExprKind::Literal && buffer.count != 0 &&
      index.literal_bits() >= buffer.count) {
    report_.expr(FindingCode::IndexOutOfRange, id,
                 fmt::format("Index {} is past the {} of `{}`.", index.literal_bits(),
                             base::counted(buffer.count, "element"), buffer.name),
                 "use an index below the count; past the end an atomic does nothing.");
  }
}

void ExpressionChecker::check_call(ExprId id) {
  const Expr& expr = program_.expr(id);
  if (!is_resolved(expr.ref)) return;
  const OpDecl& op = program_.ops()[expr.ref];
  if (op_ && expr.ref >= *op_) {
    report_.expr(FindingCode::Recursion, id,
                 fmt::format("`{}` calls itself.", program_.name(op.name)),
                 "use a loop: operations may only call operations declared before them.");
    return;
  }
  const auto operands = program_.operands(id);
  if (operands.size() != op.param_count) {
    report_.expr(FindingCode::BadArgumentCount, id,
                 fmt::format("`{}` takes {} arguments, {} given.", program_.name(op.name),
                             op.param_count, operands.size()),
                 "give as many arguments as the operation has parameters.");
    return;
  }
  for (std::uint32_t i = 0; i < op.param_count; ++i) {
    report_.expect(operands[i], program_.var(op.first_param + i).type,
                   fmt::format("Argument {} of `{}`", i + 1, program_.name(op.name)));
  }
}

}  // namespace

void check_expressions(const Program& program, Report& report) {
  ExpressionChecker(program, report).run();
}

}  // namespace felsite::ir
