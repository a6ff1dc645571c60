// Prints expressions, with the parentheses that they need and those that help readers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "felsite/program.h"

namespace felsite::ir {

class ExpressionPrinter {
 public:
  // Stops with an ellipsis once `out` has more than `limit` bytes. With `source`, the text the
  // program was parsed from, hexadecimal literals keep their spelling.
  ExpressionPrinter(const Program& program, std::string& out, std::size_t limit = SIZE_MAX,
                    std::string_view source = {})
      : program_(program), out_(out), limit_(limit), source_(source) {}

  void print(ExprId root);

 private:
  // A piece of text, or an expression with the precedence that its place requires.
  struct Item {
    std::string_view text;
    ExprId expr;
    std::uint8_t precedence;
  };
  static constexpr std::uint8_t kTight = 30;

  std::string_view ref_name(std::uint32_t ref, std::string_view resolved) const {
    return is_resolved(ref) ? resolved : program_.name(ref & ~kUnresolved);
  }
  std::string_view buffer_name(std::uint32_t ref) const {
    return ref_name(ref, is_resolved(ref) ? std::string_view(program_.buffer(ref).name) : "");
  }
  void later(std::initializer_list<Item> items) {
    work_.insert(work_.end(), std::rbegin(items), std::rend(items));
  }
  static Item text(std::string_view piece) { return {piece, kNone, 0}; }
  static Item inner(ExprId expr, std::uint8_t precedence = 0) { return {{}, expr, precedence}; }

  void arguments(std::span<const ExprId> operands) {
    // Each argument has at least one character, so the omitted ones lie past the limit.
    operands = operands.first(std::min(operands.size(), limit_));
    work_.push_back(text(")"));
    for (std::size_t i = operands.size(); i-- > 0;) {
      work_.push_back(inner(operands[i]));
      if (i > 0) work_.push_back(text(", "));
    }
  }

  // The precedence that an operand of an infix operator needs.
  std::uint8_t demanded(ExprId operand, BinaryOp parent, std::uint8_t least) const;
  void literal(ExprId id);
  void visit(ExprId id, std::uint8_t precedence);

  const Program& program_;
  std::string& out_;
  std::size_t limit_;
  std::string_view source_;
  std::vector<Item> work_;
};

}  // namespace felsite::ir
