// The text form (.fels): parsing, printing, formatting. docs/text.md has the grammar.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "felsite/finding.h"
#include "felsite/program.h"

namespace felsite::ir {

// A longer text is refused with one finding before any of it is read.
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 20;

// Checks syntax only; validate() checks names, types and access. Fails with one finding, the first.
std::expected<Program, Findings> parse(std::string_view text);

// Canonical text. parse(print(p)) has p's fingerprint, and print(parse(print(p))) is print(p).
std::string print(const Program& program);
// One expression of a program, for messages: cut with an ellipsis near `limit` characters.
std::string print(const Program& program, ExprId expr, std::size_t limit = 60);

// Canonical text that keeps the comments and the blank lines between items. The result can be
// parsed again; if it would be longer than kMaxTextBytes, the call fails with a finding.
std::expected<std::string, Findings> format(std::string_view text);

}  // namespace felsite::ir
