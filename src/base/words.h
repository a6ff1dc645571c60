// Words that follow a number or an article in messages. Inline, as the command uses them too.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace felsite::base {

// "1 iteration", "2 iterations". `many` is for words with another plural.
inline std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {}) {
  if (count != 1 && !many.empty()) return fmt::format("{} {}", count, many);
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

// "an f32", "a u32": the article depends on how the word is spoken.
inline std::string with_article(std::string_view word) {
  const bool is_spelled = word.size() > 1 && word[1] >= '0' && word[1] <= '9';  // as in "f32"
  const std::string_view vowels = is_spelled ? "aefio" : "aeio";
  return fmt::format("{} {}", vowels.find(word.front()) == vowels.npos ? "a" : "an", word);
}

}  // namespace felsite::base
