#include "felsite/printable.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace felsite {
namespace {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

// Shortest forms only, no surrogates, nothing beyond U+10FFFF.
CodePoint first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const std::uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4) return {};
  std::uint32_t value = lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3F);
  }
  const bool is_overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool is_surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (is_overlong || is_surrogate || value > 0x10FFFF) return {};
  return {value, bytes};
}

// Control characters beyond ASCII, line separators, and direction marks and overrides.
bool is_unfit(std::uint32_t value) {
  return (value >= 0x80 && value <= 0x9F) || value == 0x61C || value == 0x200E || value == 0x200F ||
         (value >= 0x2028 && value <= 0x202E) || (value >= 0x2066 && value <= 0x2069);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  const auto out = std::back_inserter(result);
  while (!text.empty()) {
    const auto [value, bytes] = first_of(text);
    if (bytes == 0) {
      fmt::format_to(out, "\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (value < 0x20 || value == 0x7F) {
      fmt::format_to(out, "\\x{:02x}", value);
    } else if (is_unfit(value)) {
      fmt::format_to(out, "\\u{{{:x}}}", value);
    } else {
      result.append(text.substr(0, bytes));
    }
    text.remove_prefix(bytes);
  }
  return result;
}

std::string printable_json(std::string_view document) {
  std::string result;
  result.reserve(document.size());
  while (!document.empty()) {
    const auto [value, bytes] = first_of(document);
    const std::size_t taken = bytes == 0 ? 1 : bytes;
    if (value == 0x7F || is_unfit(value)) {
      fmt::format_to(std::back_inserter(result), "\\u{:04x}", value);
    } else {
      result.append(document.substr(0, taken));
    }
    document.remove_prefix(taken);
  }
  return result;
}

}  // namespace felsite
