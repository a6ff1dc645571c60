// Expressions: operator precedence with a stack of its own, so that nesting costs no recursion.
#pragma once

#include <string>
#include <vector>

#include "felsite/finding.h"
#include "ir/assembler.h"
#include "ir/lexer.h"
#include "ir/words.h"

namespace felsite::ir {

// The first thing wrong with a text ends its parse.
struct SyntaxError {
  FindingCode code;
  std::uint32_t offset;
  std::string message;
  std::string fix;
};

// Tokens with one of lookahead beyond the current one.
class TokenStream {
 public:
  TokenStream(std::string_view text, std::vector<Comment>* comments)
      : lexer_(text, comments), now_(lexer_.next()), after_(lexer_.next()) {}

  const Token& now() const { return now_; }
  const Token& after() const { return after_; }
  bool at(std::string_view symbol) const { return is(now_, symbol); }
  bool after_is(std::string_view symbol) const { return is(after_, symbol); }
  bool at_keyword(Keyword keyword) const;
  Token take() {
    const Token token = now_;
    last_offset_ = token.offset;
    now_ = after_;
    after_ = lexer_.next();
    return token;
  }
  std::uint32_t last_offset() const { return last_offset_; }

  // Each takes the token, or throws the SyntaxError that says what stands there instead.
  Token expect(std::string_view symbol, std::string_view why);
  Token expect_name(std::string_view what);
  Token expect_keyword(Keyword keyword, std::string_view spelling);
  std::uint32_t expect_count(std::string_view what);
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  static bool is(const Token& token, std::string_view symbol) {
    // Symbols have one or two characters.
    return token.kind == TokenKind::Symbol && token.text.size() == symbol.size() &&
           token.text[0] == symbol[0] && token.text.back() == symbol.back();
  }

  Lexer lexer_;
  Token now_;
  Token after_;
  std::uint32_t last_offset_ = 0;
};

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Assembler& assembler)
      : tokens_(tokens), assembler_(assembler) {}

  // Parses one expression and leaves the first token that cannot belong to it.
  ExprId parse();

 private:
  enum class FrameKind : std::uint8_t {
    Prefix,  // value: UnaryOp
    Infix,   // value: BinaryOp
    Paren,
    Index,        // buffer[ …
    AtomicIndex,  // the buffer[ … inside an atomic; its Atomic frame is below
    Cast,         // value: Type
    Bitcast,      // value: Type
    Binary,       // the function form; value: BinaryOp
    Unary,        // value: UnaryOp
    Atomic,       // value: AtomicOp
    SubgroupReduce,
    Function,  // value: ExprKind
    Call,
  };
  struct Frame {
    FrameKind kind;
    std::uint8_t value;
    std::uint8_t ordering;
    std::uint8_t precedence;
    std::uint32_t offset;
    std::uint32_t ref;
    std::size_t first_operand;
  };

  void push(FrameKind kind, std::uint8_t value, std::uint32_t offset, std::uint32_t ref = kNone);
  bool read_operand();  // false when it opened a frame and an operand is still due
  bool read_name();
  bool read_function(const Word& word);
  bool read_operator();  // false at the end of the expression
  void open_atomic(AtomicOp op);
  void reduce(std::uint8_t precedence);
  void finish(const Frame& frame);
  ExprId take_operand();
  void check_count(const Frame& frame, std::size_t expected, std::string_view name) const;
  [[noreturn]] void unbalanced(const Frame& frame) const;

  TokenStream& tokens_;
  Assembler& assembler_;
  std::vector<Frame> frames_;
  std::vector<ExprId> operands_;
};

}  // namespace felsite::ir
