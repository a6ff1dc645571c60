#include "ir/text/token_stream.h"

#include <fmt/format.h>

#include "felsite/spelling.h"
#include "ir/text/literal_text.h"

namespace felsite::ir {
namespace {

std::string shown(const Token& token) {
  switch (token.kind) {
    case TokenKind::End:
      return "the end of the text";
    case TokenKind::Bad:
      return token.text == "\"" ? "a string that does not end"
                                : "a character that has no meaning here";
    case TokenKind::Name:
    case TokenKind::Integer:
    case TokenKind::Float:
    case TokenKind::String:
    case TokenKind::Symbol:
      break;
  }
  // Cut between characters: the second and later bytes of one are 10xxxxxx.
  std::size_t length = std::min<std::size_t>(token.text.size(), 40);
  while (length > 0 && length < token.text.size() && (token.text[length] & 0xC0) == 0x80) --length;
  return fmt::format("`{}`", token.text.substr(0, length));
}

}  // namespace

bool TokenStream::at_keyword(Keyword keyword) const {
  if (now_.kind != TokenKind::Name) return false;
  const Word* word = find_word(now_.text);
  return word != nullptr && word->kind == WordKind::Keyword &&
         word->value == static_cast<std::uint8_t>(keyword);
}

void TokenStream::fail(std::string_view expected) const {
  std::string hint;
  if (now_.kind == TokenKind::Name && find_word(now_.text) == nullptr) {
    std::vector<std::string_view> words;
    for (const Word& word : all_words()) words.push_back(word.text);
    hint = did_you_mean(now_.text, words);
  }
  throw SyntaxError{FindingCode::Syntax, now_.offset,
                    fmt::format("Expected {}, found {}.{}", expected, shown(now_), hint),
                    fmt::format("write {} here.", expected)};
}

Token TokenStream::expect(std::string_view symbol, std::string_view why) {
  if (!at(symbol)) fail(fmt::format("`{}` {}", symbol, why));
  return take();
}

Token TokenStream::expect_name(std::string_view what) {
  if (now_.kind != TokenKind::Name) fail(what);
  if (now_.text != "_" && !is_usable_name(now_.text)) {
    throw SyntaxError{FindingCode::BadName, now_.offset,
                      fmt::format("`{}` is a reserved word and cannot be {}.", now_.text, what),
                      "choose another name."};
  }
  return take();
}

Token TokenStream::expect_keyword(Keyword keyword, std::string_view spelling) {
  if (!at_keyword(keyword)) fail(fmt::format("`{}`", spelling));
  return take();
}

std::uint32_t TokenStream::expect_count(std::string_view what) {
  if (now_.kind != TokenKind::Integer) fail(what);
  const auto value = parse_literal(now_.text, false);
  if (!value || value->type != Type::U32) {
    throw SyntaxError{
        FindingCode::LiteralOutOfRange, now_.offset,
        fmt::format("`{}` is not {} from 0 to 4294967295.", now_.text.substr(0, 40), what),
        "write a plain number of at most 32 bits."};
  }
  take();
  return static_cast<std::uint32_t>(value->bits);
}

}  // namespace felsite::ir
