#include "ir/text/literal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "ir/text/decimal.h"

namespace felsite::ir {
namespace {

using Parsed = std::expected<Literal, LiteralProblem>;

Parsed malformed(std::string_view text) {
  return std::unexpected(LiteralProblem{
      LiteralError::Malformed, fmt::format("`{}` is not a number.", text.substr(0, 40)),
      "write digits with an optional type suffix, such as 7, 7i32, 0xFFu64, 1.5 or 1e-3f16."});
}

Parsed out_of_range(std::string_view text, bool negative, Type type) {
  return std::unexpected(LiteralProblem{LiteralError::OutOfRange,
                                        fmt::format("`{}{}` does not fit {}.", negative ? "-" : "",
                                                    text.substr(0, 40), info(type).name),
                                        "use a smaller number or a wider type suffix; a negative "
                                        "integer needs a signed suffix, such as -1i32."});
}

// Removes the type's name from the end of the number, if there is one.
std::optional<Type> take_suffix(std::string_view& text, bool hex) {
  for (const TypeInfo& row : kTypes) {
    if (row.kind == TypeClass::Bool || row.kind == TypeClass::None) continue;
    // In a hexadecimal number `f32` and `bf16` are digits.
    if (hex && row.kind == TypeClass::Float) continue;
    // f16 is also the end of bf16.
    if (row.type == Type::F16 && text.ends_with(info(Type::BF16).name)) continue;
    if (text.size() > row.name.size() && text.ends_with(row.name)) {
      text.remove_suffix(row.name.size());
      return row.type;
    }
  }
  return std::nullopt;
}

Parsed parse_integer(std::string_view whole, std::string_view digits, int base, bool negative,
                     Type type) {
  std::uint64_t magnitude = 0;
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (problem == std::errc::result_out_of_range) return out_of_range(whole, negative, type);
  if (problem != std::errc() || end != digits.data() + digits.size()) return malformed(whole);
  const TypeInfo& row = info(type);
  const int bits = row.bytes * 8;
  const std::uint64_t most_positive = std::numeric_limits<std::uint64_t>::max() >>
                                      (64 - bits + (row.kind == TypeClass::Signed ? 1 : 0));
  const std::uint64_t limit =
      !negative ? most_positive : (row.kind == TypeClass::Signed ? most_positive + 1 : 0);
  if (magnitude > limit || (negative && row.kind == TypeClass::Unsigned)) {
    return out_of_range(whole, negative, type);
  }
  return Literal{type, canonical_bits(type, negative ? 0 - magnitude : magnitude)};
}

// Whether a decimal is at least 1, judged by the position of its first digit: from_chars does not
// report whether a number is too large or too small.
bool is_at_least_one(std::string_view decimal) {
  const std::size_t e = decimal.find_first_of("eE");
  const std::string_view mantissa = decimal.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  std::string_view exponent = e == std::string_view::npos ? "0" : decimal.substr(e + 1);
  if (exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t power = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (read.ec == std::errc::result_out_of_range) return !exponent.starts_with('-');
  const auto places = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
  return power + places - (places > 0 ? 1 : 0) >= 0;
}

// Returns `nearest`, the decimal rounded to f64, or a neighbour of it that rounds to a narrower
// type as the decimal does. It only matters on which side of `nearest` the decimal lies if
// `nearest` could be a tie of the narrower type, and ties have at most 25 bits.
double for_rounding_once(double nearest, std::string_view decimal) {
  const auto bits = std::bit_cast<std::uint64_t>(nearest);
  if (nearest == 0 || (bits & 0xFFF'FFFF) != 0) return nearest;
  int exponent = 0;
  const double fraction = std::frexp(nearest, &exponent);
  const int side =
      compare(decimal, static_cast<std::uint64_t>(std::ldexp(fraction, 53)), exponent - 53);
  if (side == 0) return nearest;
  return std::nextafter(nearest, side < 0 ? 0.0 : std::numeric_limits<double>::infinity());
}

// Gradual underflow rounds some numbers up to the least normal that are below it when rounded to 53
// bits.
bool is_below_normal(double nearest, std::string_view decimal) {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 54) - 1;
  return nearest == std::numeric_limits<double>::min() && compare(decimal, kMantissa, -1076) < 0;
}

// Rounds a decimal without a sign once, to nearest, ties to even.
std::expected<Literal, LiteralError> round_decimal(std::string_view digits, bool negative,
                                                   Type type) {
  if (digits.empty() || (digits[0] != '.' && (digits[0] < '0' || digits[0] > '9'))) {
    return std::unexpected(LiteralError::Malformed);  // from_chars also takes -, inf and nan
  }
  const char* const end = digits.data() + digits.size();
  double value = 0;
  const std::from_chars_result read = std::from_chars(digits.data(), end, value);
  if (read.ec == std::errc::invalid_argument || read.ptr != end) {
    return std::unexpected(LiteralError::Malformed);
  }
  if (read.ec == std::errc::result_out_of_range) {
    // A number that is too small is zero, like every subnormal; one that is too large is an error.
    if (is_at_least_one(digits)) return std::unexpected(LiteralError::OutOfRange);
    value = 0;
  } else if (type != Type::F64) {
    value = for_rounding_once(value, digits);
  } else if (is_below_normal(value, digits)) {
    value = 0;
  }
  const Literal literal = float_literal(type, negative ? -value : value);
  if (std::isinf(float_value(literal))) return std::unexpected(LiteralError::OutOfRange);
  return literal;
}

Parsed parse_float(std::string_view whole, std::string_view digits, bool negative, Type type) {
  const auto literal = round_decimal(digits, negative, type);
  if (literal) return *literal;
  return literal.error() == LiteralError::Malformed ? malformed(whole)
                                                    : out_of_range(whole, negative, type);
}

}  // namespace

std::optional<Literal> decimal_literal(Type type, std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (!is_float(type)) return std::nullopt;
  const auto literal = round_decimal(text, negative, type);
  return literal ? std::optional(*literal) : std::nullopt;
}

Parsed parse_literal(std::string_view text, bool negative) {
  const std::string_view whole = text;
  if (std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; })) {
    return parse_integer(whole, text, 10, negative, Type::U32);  // the most common form
  }
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const std::optional<Type> suffix = take_suffix(text, hex);
  std::string without_separators;
  if (text.find('_') != std::string_view::npos) {
    for (const char c : text) {
      if (c != '_') without_separators += c;
    }
    text = without_separators;
  }
  if (hex) return parse_integer(whole, text.substr(2), 16, negative, suffix.value_or(Type::U32));
  const bool has_point = text.find_first_of(".eE") != std::string_view::npos;
  if (has_point || (suffix && is_float(*suffix))) {
    const Type type = suffix.value_or(Type::F32);
    if (!is_float(type)) return malformed(whole);
    return parse_float(whole, text, negative, type);
  }
  return parse_integer(whole, text, 10, negative, suffix.value_or(Type::U32));
}

void print_literal(Literal literal, std::string& out) {
  const TypeInfo& row = info(literal.type);
  switch (row.kind) {
    case TypeClass::Bool:
      out += literal.bits != 0 ? "true" : "false";
      return;
    case TypeClass::Unsigned:
      fmt::format_to(std::back_inserter(out), "{}", literal.bits);
      break;
    case TypeClass::Signed: {
      const int shift = 64 - row.bytes * 8;
      fmt::format_to(std::back_inserter(out), "{}",
                     static_cast<std::int64_t>(literal.bits << shift) >> shift);
      break;
    }
    case TypeClass::Float: {
      const double value = float_value(literal);
      const bool is_f32 = literal.type == Type::F32;
      if (std::isnan(value) || std::isinf(value)) {
        if (value < 0) out += '-';
        out += std::isnan(value) ? "nan" : "inf";
        if (!is_f32) {
          out += '_';
          out += row.name;
        }
        return;
      }
      // The shortest decimal that reads back. A narrow float is exact in f32, so f32's decimal
      // works.
      char buffer[64];
      const auto end =
          literal.type == Type::F64
              ? std::to_chars(buffer, buffer + sizeof buffer, value).ptr
              : std::to_chars(buffer, buffer + sizeof buffer, static_cast<float>(value)).ptr;
      const std::string_view digits(buffer, static_cast<std::size_t>(end - buffer));
      out += digits;
      if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
      if (!is_f32) out += row.name;
      return;
    }
    case TypeClass::None:
      out += '?';
      return;
  }
  if (literal.type != Type::U32) out += row.name;
}

}  // namespace felsite::ir
