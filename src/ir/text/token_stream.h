// Tokens for the parser, with one token of lookahead, and the messages about missing ones.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "felsite/finding.h"
#include "ir/text/lexer.h"
#include "ir/text/words.h"

namespace felsite::ir {

// The first mistake in a text ends its parse.
struct SyntaxError {
  FindingCode code;
  std::uint32_t offset;
  std::string message;
  std::string fix;
};

// Tokens with one token of lookahead beyond the current one.
class TokenStream {
 public:
  TokenStream(std::string_view text, std::vector<Comment>* comments)
      : lexer_(text, comments), now_(lexer_.next()), after_(lexer_.next()) {}

  const Token& now() const { return now_; }
  const Token& after() const { return after_; }
  bool at(std::string_view symbol) const { return is(now_, symbol); }
  bool next_is(std::string_view symbol) const { return is(after_, symbol); }
  bool at_keyword(Keyword keyword) const;
  Token take() {
    const Token token = now_;
    last_offset_ = token.offset;
    now_ = after_;
    after_ = lexer_.next();
    return token;
  }
  // Whether the token was there, and so is taken.
  bool accept(std::string_view symbol) { return take_if(at(symbol)); }
  bool accept(Keyword keyword) { return take_if(at_keyword(keyword)); }
  std::uint32_t last_offset() const { return last_offset_; }

  // Each takes the token, or throws a SyntaxError that says what was found instead.
  Token expect(std::string_view symbol, std::string_view why);
  Token expect_name(std::string_view what);
  Token expect_keyword(Keyword keyword, std::string_view spelling);
  std::uint32_t expect_count(std::string_view what);
  // A word that `find` gives a meaning.
  template <class Find>
  auto expect_word(Find find, std::string_view what) {
    const auto meaning = find(now_.kind == TokenKind::Name ? now_.text : std::string_view());
    if (!meaning) fail(what);
    take();
    return *meaning;
  }
  [[noreturn]] void fail(std::string_view expected) const;

 private:
  bool take_if(bool wanted) {
    if (wanted) take();
    return wanted;
  }
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

}  // namespace felsite::ir
