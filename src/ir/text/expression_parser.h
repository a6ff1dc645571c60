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
  bool read_operand();  // false if it opened a frame and an operand must still follow
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
