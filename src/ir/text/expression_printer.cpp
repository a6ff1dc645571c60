#include "ir/text/expression_printer.h"

#include <fmt/format.h>

#include "ir/text/lexer.h"
#include "ir/text/literal_text.h"
#include "ir/text/words.h"

namespace felsite::ir {
namespace {

constexpr char kAxes[] = "xyz";

// Few people know by heart the precedence of & and << relative to + and ==, or of && and ||.
bool needs_clarity(BinaryOp parent, BinaryOp child) {
  if (parent == child) return false;
  const OpFamily outer = info(parent).family;
  const OpFamily inner = info(child).family;
  if (outer == OpFamily::Logic) return inner == OpFamily::Logic;
  return outer == OpFamily::Bits || inner == OpFamily::Bits;
}

}  // namespace

void ExpressionPrinter::print(ExprId root) {
  work_.push_back({{}, root, 0});
  while (!work_.empty()) {
    if (out_.size() > limit_) {
      out_ += "…";
      work_.clear();
      return;
    }
    const Item item = work_.back();
    work_.pop_back();
    if (item.expr == kNone) {
      out_ += item.text;
    } else {
      visit(item.expr, item.precedence);
    }
  }
}

std::uint8_t ExpressionPrinter::demanded(ExprId operand, BinaryOp parent,
                                         std::uint8_t least) const {
  const Expr& e = program_.expr(operand);
  if (e.kind != ExprKind::Binary || info(e.binary()).infix.empty()) return least;
  return needs_clarity(parent, e.binary()) ? kTight - 1 : least;
}

void ExpressionPrinter::literal(ExprId id) {
  const Expr& e = program_.expr(id);
  if (!source_.empty()) {
    // A mask or a hash constant is clearer as it was written.
    const std::string_view rest = source_.substr(program_.source().exprs[id]);
    const bool negative = rest.starts_with('-');
    const Token token = Lexer(rest.substr(negative ? 1 : 0), nullptr).next();
    if (token.text.starts_with("0x") || token.text.starts_with("0X")) {
      if (negative) out_ += '-';
      out_ += token.text;
      return;
    }
  }
  print_literal({e.type, e.literal_bits()}, out_);
}

void ExpressionPrinter::visit(ExprId id, std::uint8_t precedence) {
  const Expr& e = program_.expr(id);
  const auto call = [&](std::string_view name) {
    out_ += name;
    out_ += '(';
    arguments(program_.operands(id));
  };
  switch (e.kind) {
    case ExprKind::Literal:
      // `-1` after a minus sign would be read as the literal.
      if (precedence == kTight) out_ += '(';
      literal(id);
      if (precedence == kTight) out_ += ')';
      return;
    case ExprKind::Var:
      out_ += is_resolved(e.ref) ? program_.var_name(e.ref) : program_.name(e.ref & ~kUnresolved);
      return;
    case ExprKind::Load:
      out_ += buffer_name(e.ref);
      out_ += '[';
      later({inner(e.args[0]), text("]")});
      return;
    case ExprKind::BufLen:
      fmt::format_to(std::back_inserter(out_), "len({})", buffer_name(e.ref));
      return;
    case ExprKind::InvocationId:
    case ExprKind::WorkgroupId:
    case ExprKind::LocalId:
    case ExprKind::NumWorkgroups:
    case ExprKind::WorkgroupSize:
    case ExprKind::SubgroupLocalId:
    case ExprKind::SubgroupSize:
      out_ += builtin_word(e.kind);
      if (builtin_has_axis(e.kind)) {
        out_ += '.';
        out_ += kAxes[e.aux % 3];
      }
      return;
    case ExprKind::Binary: {
      const BinaryOpInfo& row = info(e.binary());
      if (row.infix.empty()) return call(row.name);
      const bool parens = row.precedence < precedence;
      if (parens) {
        out_ += '(';
        work_.push_back(text(")"));
      }
      const auto tighter = static_cast<std::uint8_t>(row.precedence + 1);
      later({inner(e.args[0], demanded(e.args[0], row.op, row.precedence)), text(" "),
             text(row.infix), text(" "), inner(e.args[1], demanded(e.args[1], row.op, tighter))});
      return;
    }
    case ExprKind::Unary: {
      const UnaryOpInfo& row = info(e.unary());
      if (row.prefix.empty()) return call(row.name);
      out_ += row.prefix;
      const bool literal =
          e.unary() == UnaryOp::Negate && program_.expr(e.args[0]).kind == ExprKind::Literal;
      later({inner(e.args[0], literal ? kTight : kTight - 1)});
      return;
    }
    case ExprKind::Select:
      return call("select");
    case ExprKind::Cast:
      return call(info(e.type).name);
    case ExprKind::Bitcast:
      fmt::format_to(std::back_inserter(out_), "bitcast<{}>", info(e.type).name);
      return call("");
    case ExprKind::Fma:
      return call("fma");
    case ExprKind::Atomic:
      out_ += info(e.atomic()).name;
      if (e.ordering() != Ordering::Relaxed) {
        out_ += '.';
        out_ += info(e.ordering()).name;
      }
      fmt::format_to(std::back_inserter(out_), "({}[", buffer_name(e.ref));
      arguments(program_.operands(id).subspan(1));
      later({inner(e.args[0]), text("], ")});
      return;
    case ExprKind::SubgroupBallot:
      return call("subgroup_ballot");
    case ExprKind::SubgroupShuffle:
      return call("subgroup_shuffle");
    case ExprKind::SubgroupReduce:
      out_ += "subgroup_";
      return call(info(e.reduce()).name);
    case ExprKind::Call:
      return call(
          ref_name(e.ref, is_resolved(e.ref) ? program_.name(program_.ops()[e.ref].name) : ""));
  }
}

}  // namespace felsite::ir
