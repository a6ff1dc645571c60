// Splits text into tokens, one at a time. Tokens are views into the text; comments are kept apart.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace felsite::ir {

enum class TokenKind : std::uint8_t {
  Name,
  Integer,  // digits with an optional type suffix
  Float,
  String,  // without its quotes
  Symbol,  // an operator or punctuation
  End,
  Bad,  // a character, or the beginning of something, that no token starts with
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::uint32_t offset = 0;
  std::string_view text;
};

struct Comment {
  std::uint32_t offset = 0;
  std::string_view text;  // from its slashes to the end of the line
  bool own_line = false;
};

class Lexer {
 public:
  // `comments` may be null. `text` must be shorter than 4 GiB.
  Lexer(std::string_view text, std::vector<Comment>* comments);
  Token next();

 private:
  void skip_space();
  Token number(std::size_t start);

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Comment>* comments_;
};

std::vector<std::uint32_t> find_line_starts(std::string_view text);
// The offset of the first byte that is not valid UTF-8 or is a NUL, or npos.
std::size_t find_bad_byte(std::string_view text);

}  // namespace felsite::ir
