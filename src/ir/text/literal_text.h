// Parses and prints literals: 7, -3i32, 0xFFu64, 1.5, 2e-3f16.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "felsite/literal.h"

namespace felsite::ir {

enum class LiteralError : std::uint8_t { Malformed, OutOfRange };

struct LiteralProblem {
  LiteralError error;
  std::string message;
  std::string fix;
};

// `text` is a number token without its sign.
std::expected<Literal, LiteralProblem> parse_literal(std::string_view text, bool negative);
void print_literal(Literal literal, std::string& out);

}  // namespace felsite::ir
