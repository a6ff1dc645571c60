#include "ir/text/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ir/op_tables.h"
#include "ir/text/literal_text.h"

namespace felsite::ir {
namespace {

constexpr std::uint8_t kPrefixPrecedence = 20;  // above every infix operator

const BinaryOpInfo* infix_op(const Token& token) {
  // Indexed by the first character; length and last character tell those that share it apart.
  static const auto kByFirst = [] {
    std::array<std::array<const BinaryOpInfo*, 4>, 128> table{};
    for (const BinaryOpInfo& row : kBinaryOps) {
      if (row.infix.empty()) continue;
      auto& rows = table[static_cast<unsigned char>(row.infix[0])];
      *std::ranges::find(rows, nullptr) = &row;
    }
    return table;
  }();
  if (token.kind != TokenKind::Symbol) return nullptr;
  for (const BinaryOpInfo* row : kByFirst[static_cast<unsigned char>(token.text[0]) % 128]) {
    if (row == nullptr) return nullptr;
    if (row->infix.size() == token.text.size() && row->infix.back() == token.text.back())
      return row;
  }
  return nullptr;
}

}  // namespace

void ExpressionParser::push(FrameKind kind, std::uint32_t offset, const Expr& row,
                            std::string_view name) {
  frames_.push_back({kind, 0, offset, row, name, operands_.size()});
}

// The left operand of an infix operator is complete.
void ExpressionParser::push_operator(const Expr& row, std::uint8_t precedence,
                                     std::uint32_t offset) {
  const std::size_t complete = row.kind == ExprKind::Binary ? 1 : 0;
  frames_.push_back(
      {FrameKind::Operator, precedence, offset, row, {}, operands_.size() - complete});
}

ExprId ExpressionParser::parse() {
  frames_.clear();
  operands_.clear();
  do {
    while (!read_operand()) {
    }
  } while (read_operator());
  if (!frames_.empty()) unbalanced();
  return operands_.back();
}

// Returns true when an operand is complete.
bool ExpressionParser::read_operand() {
  const Token& token = tokens_.now();
  const auto literal = [&](bool negative) {
    const std::uint32_t offset = negative ? tokens_.last_offset() : tokens_.now().offset;
    const auto value = parse_literal(tokens_.now().text, negative);
    if (!value) {
      const bool range = value.error().error == LiteralError::OutOfRange;
      throw SyntaxError{range ? FindingCode::LiteralOutOfRange : FindingCode::Syntax, offset,
                        value.error().message, value.error().fix};
    }
    operands_.push_back(assembler_.literal(*value, offset));
    tokens_.take();
    return true;
  };
  switch (token.kind) {
    case TokenKind::Integer:
    case TokenKind::Float:
      return literal(false);
    case TokenKind::Name:
      return read_name();
    case TokenKind::Symbol:
      break;
    case TokenKind::String:
    case TokenKind::End:
    case TokenKind::Bad:
      tokens_.fail("a value");
  }
  const std::uint32_t offset = token.offset;
  const auto prefix = [&](UnaryOp op) {
    const Expr row{.kind = ExprKind::Unary, .op = static_cast<std::uint8_t>(op)};
    push_operator(row, kPrefixPrecedence, offset);
    return false;
  };
  if (tokens_.accept("(")) {
    push(FrameKind::Paren, offset);
    return false;
  }
  if (tokens_.accept("-")) {
    const TokenKind next = tokens_.now().kind;
    if (next == TokenKind::Integer || next == TokenKind::Float) return literal(true);
    if (tokens_.at_keyword(Keyword::Inf)) {
      const Type type = find_word(tokens_.take().text)->type;
      const std::uint64_t sign = std::uint64_t{1} << (info(type).bytes * 8 - 1);
      const Literal positive = float_literal(type, HUGE_VAL);
      operands_.push_back(assembler_.literal({type, positive.bits | sign}, offset));
      return true;
    }
    return prefix(UnaryOp::Negate);
  }
  for (const UnaryOp op : {UnaryOp::BitNot, UnaryOp::LogicalNot}) {
    if (tokens_.accept(info(op).prefix)) {
      return prefix(op);
    }
  }
  tokens_.fail("a value");
}

bool ExpressionParser::read_name() {
  const Token token = tokens_.now();
  const Word* word = find_word(token.text);
  const bool reserved =
      word != nullptr && (word->kind == WordKind::Keyword || word->kind == WordKind::TypeName ||
                          word->kind == WordKind::Builtin);
  if (reserved && word->kind == WordKind::Keyword) {
    const auto keyword = static_cast<Keyword>(word->value);
    Literal value;
    if (keyword == Keyword::True || keyword == Keyword::False) {
      value = {Type::Bool, keyword == Keyword::True ? 1u : 0u};
    } else if (keyword == Keyword::Inf || keyword == Keyword::Nan) {
      value = float_literal(word->type, keyword == Keyword::Inf ? HUGE_VAL : NAN);
    } else {
      tokens_.fail("a value");
    }
    tokens_.take();
    operands_.push_back(assembler_.literal(value, token.offset));
    return true;
  }
  if (reserved && word->kind == WordKind::Builtin) {
    tokens_.take();
    const auto kind = static_cast<ExprKind>(word->value);
    std::uint8_t axis = 0;
    if (builtin_has_axis(kind)) {
      tokens_.expect(".", fmt::format("and an axis after `{}`", word->text));
      const std::string_view name = tokens_.now().text;
      if (name != "x" && name != "y" && name != "z") tokens_.fail("an axis: `x`, `y` or `z`");
      axis = static_cast<std::uint8_t>(name[0] - 'x');
      tokens_.take();
    }
    operands_.push_back(assembler_.builtin(kind, axis, token.offset));
    return true;
  }
  const bool called = tokens_.next_is("(") ||
                      (word != nullptr && word->kind == WordKind::Atomic && tokens_.next_is(".")) ||
                      (word != nullptr && word->text == "bitcast" && tokens_.next_is("<"));
  if (word != nullptr && (called || reserved)) {
    tokens_.take();
    return read_function(*word);
  }
  tokens_.expect_name("a value");
  if (tokens_.accept("[")) {
    const std::uint32_t buffer = assembler_.buffer_ref(token.text);
    push(FrameKind::Index, token.offset, {.kind = ExprKind::Load, .ref = buffer});
    return false;
  }
  if (tokens_.accept("(")) {
    const Expr call{.kind = ExprKind::Call, .ref = assembler_.op_ref(token.text)};
    if (tokens_.accept(")")) {
      operands_.push_back(assembler_.append(call, {}, token.offset));
      return true;
    }
    push(FrameKind::Function, token.offset, call);
    return false;
  }
  operands_.push_back(assembler_.variable(assembler_.variable_ref(token.text), token.offset));
  return true;
}

bool ExpressionParser::read_function(const Word& word) {
  const std::uint32_t offset = tokens_.last_offset();
  const auto open = [&](const Expr& row) {
    tokens_.expect("(", fmt::format("after `{}`", word.text));
    push(FrameKind::Function, offset, row, word.text);
    return false;
  };
  switch (word.kind) {
    case WordKind::TypeName:
      return open({.kind = ExprKind::Cast, .type = static_cast<Type>(word.value)});
    case WordKind::Binary:
      return open({.kind = ExprKind::Binary, .op = word.value});
    case WordKind::Unary:
      return open({.kind = ExprKind::Unary, .op = word.value});
    case WordKind::SubgroupReduce:
      return open({.kind = ExprKind::SubgroupReduce, .op = word.value});
    case WordKind::Atomic:
      open_atomic(word);
      return false;
    case WordKind::Function:
      break;
    case WordKind::Keyword:
    case WordKind::Builtin:
      tokens_.fail("a value");
  }
  const auto kind = static_cast<ExprKind>(word.value);
  if (kind == ExprKind::BufLen) {
    tokens_.expect("(", "after `len`");
    const Token buffer = tokens_.expect_name("the name of a buffer");
    tokens_.expect(")", "after the buffer's name");
    operands_.push_back(assembler_.buffer_length(assembler_.buffer_ref(buffer.text), offset));
    return true;
  }
  if (kind == ExprKind::Bitcast) {
    tokens_.expect("<", "and a type after `bitcast`");
    const Type type = tokens_.expect_word(type_named, "a type");
    tokens_.expect(">", "after the type");
    tokens_.expect("(", "after `bitcast<…>`");
    push(FrameKind::Function, offset, {.kind = kind, .type = type}, word.text);
    return false;
  }
  return open({.kind = kind});
}

void ExpressionParser::open_atomic(const Word& word) {
  const std::uint32_t offset = tokens_.last_offset();
  Ordering ordering = Ordering::Relaxed;
  if (tokens_.accept(".")) {
    ordering = tokens_.expect_word(ordering_named,
                                   "an ordering: relaxed, acquire, release, acq_rel or seq_cst");
  }
  tokens_.expect("(", "after the atomic's name");
  const Token buffer = tokens_.expect_name("the name of a buffer");
  const std::uint32_t ref = assembler_.buffer_ref(buffer.text);
  const auto aux = static_cast<std::uint8_t>(ordering);
  push(FrameKind::Function, offset,
       {.kind = ExprKind::Atomic, .op = word.value, .aux = aux, .ref = ref}, word.text);
  const Token bracket = tokens_.expect("[", "and an index after the buffer's name");
  push(FrameKind::AtomicIndex, bracket.offset);
}

// Applies the pending operators that bind at least as tightly as `precedence`.
void ExpressionParser::reduce(std::uint8_t precedence) {
  const auto binds = [&](const Frame& frame) {
    return frame.kind == FrameKind::Operator && frame.precedence >= precedence;
  };
  while (!frames_.empty() && binds(frames_.back())) finish();
}

// Handles what follows a complete operand. Returns true when another operand must follow.
bool ExpressionParser::read_operator() {
  while (true) {
    const Token token = tokens_.now();
    if (const BinaryOpInfo* row = infix_op(token); row != nullptr) {
      reduce(row->precedence);
      tokens_.take();
      const auto op = static_cast<std::uint8_t>(row->op);
      push_operator({.kind = ExprKind::Binary, .op = op}, row->precedence, token.offset);
      return true;
    }
    reduce(0);
    if (frames_.empty()) return false;
    const FrameKind kind = frames_.back().kind;
    if (kind == FrameKind::AtomicIndex) {
      if (!tokens_.accept("]")) unbalanced();
      tokens_.expect(",", "and a value after the element an atomic changes");
      frames_.pop_back();
      return true;
    }
    if (kind == FrameKind::Index) {
      if (!tokens_.accept("]")) unbalanced();
      finish();
      continue;
    }
    if (kind != FrameKind::Paren && tokens_.accept(",")) return true;
    if (!tokens_.accept(")")) unbalanced();
    if (kind == FrameKind::Paren) {
      frames_.pop_back();
    } else {
      finish();
    }
  }
}

void ExpressionParser::check_count(const Frame& frame) const {
  const std::size_t given = operands_.size() - frame.first_operand;
  const std::size_t expected = frame.row.arity();
  if (given == expected) return;
  throw SyntaxError{
      FindingCode::BadArgumentCount, frame.offset,
      fmt::format("`{}` takes {} argument{}, {} given.", frame.name, expected,
                  expected == 1 ? "" : "s", given),
      fmt::format("give `{}` {} argument{}.", frame.name, expected, expected == 1 ? "" : "s")};
}

// The operands of the innermost frame are complete.
void ExpressionParser::finish() {
  const Frame& frame = frames_.back();
  // Validation reports a call with other operands than its operation takes.
  if (frame.kind == FrameKind::Function && frame.row.kind != ExprKind::Call) check_count(frame);
  const auto operands = std::span(operands_).subspan(frame.first_operand);
  const ExprId result = assembler_.append(frame.row, operands, frame.offset);
  operands_.resize(frame.first_operand);
  operands_.push_back(result);
  frames_.pop_back();
}

void ExpressionParser::unbalanced() const {
  const FrameKind kind = frames_.back().kind;
  const bool index = kind == FrameKind::Index || kind == FrameKind::AtomicIndex;
  tokens_.fail(index ? "an operator or `]`" : "an operator or `)`");
}

}  // namespace felsite::ir
