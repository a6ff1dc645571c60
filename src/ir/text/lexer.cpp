#include "ir/text/lexer.h"

#include <array>
#include <cstring>

namespace felsite::ir {
namespace {

enum CharClass : std::uint8_t { kOther = 0, kLetter = 1, kDigit = 2, kSpace = 4 };

constexpr std::array<std::uint8_t, 256> kClasses = [] {
  std::array<std::uint8_t, 256> table{};
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = kLetter;
  for (unsigned c = 'A'; c <= 'Z'; ++c) table[c] = kLetter;
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = kDigit;
  table['_'] = kLetter;
  table[' '] = table['\t'] = table['\r'] = table['\n'] = kSpace;
  return table;
}();

std::uint8_t char_class(char c) { return kClasses[static_cast<unsigned char>(c)]; }

// Two characters that form one symbol; any other punctuation is a symbol by itself.
constexpr std::string_view kPairs[] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "..", "->"};
constexpr std::string_view kSingles = "+-*/%&|^~!<>=()[]{},;:.";

// How many characters of `text` make a symbol: 2, 1 or 0.
std::size_t symbol_length(std::string_view text) {
  static constexpr auto kStarts = [] {
    std::array<std::uint8_t, 256> table{};
    for (const char c : kSingles) table[static_cast<unsigned char>(c)] = 1;
    for (const std::string_view pair : kPairs) table[static_cast<unsigned char>(pair[0])] = 2;
    return table;
  }();
  const std::uint8_t longest = kStarts[static_cast<unsigned char>(text[0])];
  if (longest < 2) return longest;
  for (const std::string_view pair : kPairs) {
    if (text.size() > 1 && text[0] == pair[0] && text[1] == pair[1]) return 2;
  }
  return 1;
}

}  // namespace

Lexer::Lexer(std::string_view text, std::vector<Comment>* comments)
    : text_(text), comments_(comments) {
  // Skips a byte order mark, which some editors write; it is not part of the program.
  if (text.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    if (char_class(text_[at_]) == kSpace) {
      ++at_;
    } else if (text_.compare(at_, 2, "//") == 0) {
      std::size_t end = text_.find('\n', at_);
      if (end == std::string_view::npos) end = text_.size();
      if (comments_ != nullptr) {
        std::size_t before = at_;
        while (before > 0 && (text_[before - 1] == ' ' || text_[before - 1] == '\t')) --before;
        std::size_t last = end;
        while (last > at_ && char_class(text_[last - 1]) == kSpace) --last;
        comments_->push_back({static_cast<std::uint32_t>(at_), text_.substr(at_, last - at_),
                              before == 0 || text_[before - 1] == '\n'});
      }
      at_ = end;
    } else {
      return;
    }
  }
}

Token Lexer::number(std::size_t start) {
  const auto peek = [&](std::size_t ahead) {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  };
  const auto digits = [&] {
    while (char_class(peek(0)) == kDigit || peek(0) == '_') ++at_;
  };
  TokenKind kind = TokenKind::Integer;
  const bool hex = peek(0) == '0' && (peek(1) == 'x' || peek(1) == 'X');
  if (!hex) {
    digits();
    // `0..4` is a range, not the float `0.`
    if (peek(0) == '.' && char_class(peek(1)) == kDigit) {
      kind = TokenKind::Float;
      ++at_;
      digits();
    }
    const bool sign = peek(1) == '+' || peek(1) == '-';
    if ((peek(0) == 'e' || peek(0) == 'E') && char_class(peek(sign ? 2 : 1)) == kDigit) {
      kind = TokenKind::Float;
      at_ += sign ? 2 : 1;
      digits();
    }
  }
  // A type suffix, or the digits of a hexadecimal number and its suffix.
  while ((char_class(peek(0)) & (kLetter | kDigit)) != 0) ++at_;
  const std::string_view text = text_.substr(start, at_ - start);
  if (!hex && text.find('f') != std::string_view::npos) kind = TokenKind::Float;
  return {kind, static_cast<std::uint32_t>(start), text};
}

Token Lexer::next() {
  skip_space();
  const std::size_t start = at_;
  const auto token = [&](TokenKind kind, std::string_view text) {
    return Token{kind, static_cast<std::uint32_t>(start), text};
  };
  if (start >= text_.size()) return token(TokenKind::End, {});
  const char c = text_[start];
  if (char_class(c) == kLetter) {
    while (at_ < text_.size() && (char_class(text_[at_]) & (kLetter | kDigit)) != 0) ++at_;
    return token(TokenKind::Name, text_.substr(start, at_ - start));
  }
  if (char_class(c) == kDigit) return number(start);
  if (c == '"') {
    const std::size_t close = text_.find_first_of("\"\n", start + 1);
    if (close == std::string_view::npos || text_[close] == '\n') {
      return token(TokenKind::Bad, text_.substr(start, 1));
    }
    at_ = close + 1;
    return token(TokenKind::String, text_.substr(start + 1, close - start - 1));
  }
  if (const std::size_t length = symbol_length(text_.substr(start)); length > 0) {
    at_ += length;
    return token(TokenKind::Symbol, text_.substr(start, length));
  }
  return token(TokenKind::Bad, text_.substr(start, 1));
}

std::vector<std::uint32_t> find_line_starts(std::string_view text) {
  std::vector<std::uint32_t> starts{0};
  const char* const begin = text.data();
  const char* at = begin;
  const char* const end = begin + text.size();
  while (at < end) {
    at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
    if (at == nullptr) break;
    starts.push_back(static_cast<std::uint32_t>(++at - begin));
  }
  return starts;
}

std::size_t find_bad_byte(std::string_view text) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned b = byte(i);
    if (b != 0 && b < 0x80) {
      ++i;
    } else if (b >= 0xC2 && b <= 0xDF && continues(i + 1)) {
      i += 2;
    } else if (b >= 0xE0 && b <= 0xEF && continues(i + 1) && continues(i + 2) &&
               !(b == 0xE0 && byte(i + 1) < 0xA0) && !(b == 0xED && byte(i + 1) > 0x9F)) {
      i += 3;
    } else if (b >= 0xF0 && b <= 0xF4 && continues(i + 1) && continues(i + 2) && continues(i + 3) &&
               !(b == 0xF0 && byte(i + 1) < 0x90) && !(b == 0xF4 && byte(i + 1) > 0x8F)) {
      i += 4;
    } else {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace felsite::ir
