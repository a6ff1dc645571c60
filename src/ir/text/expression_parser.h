// Parses expressions by operator precedence with an explicit stack, so nesting needs no recursion.
#pragma once

#include <vector>

#include "ir/assembler.h"
#include "ir/text/token_stream.h"
#include "ir/text/words.h"

namespace felsite::ir {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Assembler& assembler)
      : tokens_(tokens), assembler_(assembler) {}

  // Parses one expression and stops before the first token that cannot belong to it.
  ExprId parse();

 private:
  enum class FrameKind : std::uint8_t {
    Operator,  // prefix or infix
    Paren,
    Index,        // buffer[ …
    AtomicIndex,  // the buffer[ … inside an atomic; its Function frame is below
    Function,     // name( …
  };
  struct Frame {
    FrameKind kind;
    std::uint8_t precedence;  // of an operator
    std::uint32_t offset;
    Expr row;               // what is appended once its operands are
    std::string_view name;  // of a function
    std::size_t first_operand;
  };

  void push(FrameKind kind, std::uint32_t offset, const Expr& row = {}, std::string_view name = {});
  void push_operator(const Expr& row, std::uint8_t precedence, std::uint32_t offset);
  bool read_operand();  // false if it opened a frame and an operand must still follow
  bool read_name();
  bool read_function(const Word& word);
  bool read_operator();  // false at the end of the expression
  void open_atomic(const Word& word);
  void reduce(std::uint8_t precedence);
  void finish();
  void check_count(const Frame& frame) const;
  [[noreturn]] void unbalanced() const;

  TokenStream& tokens_;
  Assembler& assembler_;
  std::vector<Frame> frames_;
  std::vector<ExprId> operands_;
};

}  // namespace felsite::ir
