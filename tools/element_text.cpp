#include "element_text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "base/errors.h"
#include "base/try.h"
#include "felsite/literal.h"
#include "files.h"

namespace felsite::tool {
namespace {

using namespace ir;

// More than the generators are meant for, and small enough to allocate.
constexpr std::uint64_t kMaxGenerated = std::uint64_t{1} << 31;

// A file may take at most half of the machine's memory, as the run needs room as well.
base::ReadLimits input_limits() {
  constexpr std::uint64_t kMaxOfFile = std::uint64_t{16} << 30;
  constexpr std::uint64_t kMaxOfStream = std::uint64_t{256} << 20;
  const std::uint64_t machine = static_cast<std::uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 1L)) *
                                static_cast<std::uint64_t>(std::max(sysconf(_SC_PAGESIZE), 1L));
  const std::uint64_t file = std::min(kMaxOfFile, machine / 2);
  return {.file = file, .stream = std::min(kMaxOfStream, file)};
}

Error bad_spec(const BufferDecl& buffer, std::string message) {
  return base::bad_inputs(
      fmt::format("Input `{}`: {}", buffer.name, message),
      "write NAME=@file, NAME=1,2,3, NAME=bits:HEX,HEX, NAME=zeros:N, NAME=iota:N or "
      "NAME=random:N:seed.");
}

void append(Bytes& bytes, Type type, std::uint64_t bits) {
  const auto* first = reinterpret_cast<const std::byte*>(&bits);
  bytes.insert(bytes.end(), first, first + info(type).bytes);
}

std::optional<std::uint64_t> parse_integer(std::string_view text, Type type) {
  const bool negative = text.starts_with('-');
  std::string_view digits = negative ? text.substr(1) : text;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  }
  std::uint64_t magnitude = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, magnitude, base);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  const TypeInfo& row = info(type);
  const bool is_signed = row.kind == TypeClass::Signed;
  const std::uint64_t most = UINT64_MAX >> (64 - row.bytes * 8 + (is_signed ? 1 : 0));
  if (negative ? !is_signed || magnitude > most + 1 : magnitude > most) return std::nullopt;
  return canonical_bits(type, negative ? 0 - magnitude : magnitude);
}

std::optional<std::uint64_t> parse_float(std::string_view text, Type type) {
  if (const auto literal = decimal_literal(type, text)) return literal->bits;
  // Otherwise it is the name of an infinity or a NaN.
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || std::isfinite(value)) return std::nullopt;
  return float_literal(type, value).bits;
}

std::optional<std::uint64_t> parse_element(std::string_view text, Type type) {
  if (type == Type::Bool) {
    if (text == "true") return 1;
    if (text == "false") return 0;
    return parse_integer(text, Type::U32);
  }
  return is_float(type) ? parse_float(text, type) : parse_integer(text, type);
}

// The bits of an element of any type, in hexadecimal.
std::optional<std::uint64_t> parse_bits(std::string_view text, Type type) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, bits, 16);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  if (bits > UINT64_MAX >> (64 - info(type).bytes * 8)) return std::nullopt;
  return bits;
}

using ParseElement = std::optional<std::uint64_t>(std::string_view text, Type type);

Result<Bytes> parse_list(const BufferDecl& buffer, std::string_view text, ParseElement* parse) {
  Bytes bytes;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    const auto bits = parse(item, buffer.element);
    if (!bits) {
      const std::string_view what = parse == parse_bits ? "the bits of " : "";
      return std::unexpected(bad_spec(buffer, fmt::format("`{}` is not {}a {}.", item.substr(0, 40),
                                                          what, info(buffer.element).name)));
    }
    append(bytes, buffer.element, *bits);
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return std::unexpected(bad_spec(buffer, "the list ends with a comma."));
  }
  return bytes;
}

std::uint64_t iota_bits(Type type, std::uint64_t i) {
  if (type == Type::Bool) return i != 0 ? 1 : 0;
  return is_float(type) ? float_literal(type, static_cast<double>(i)).bits
                        : canonical_bits(type, i);
}

// Floats in [-1, 1), bools 0 or 1, integers over their whole range.
std::uint64_t random_bits(Type type, std::mt19937_64& random) {
  const std::uint64_t word = random();
  if (type == Type::Bool) return word >> 63;
  if (!is_float(type)) return canonical_bits(type, word);
  return float_literal(type, static_cast<double>(word >> 11) * 0x1p-52 - 1.0).bits;
}

}  // namespace

Result<Bytes> make_input(const BufferDecl& buffer, std::string_view spec) {
  if (spec.starts_with('@')) {
    FELSITE_TRY(auto text, read_bytes(std::string(spec.substr(1)), input_limits()));
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    return Bytes(first, first + text.size());
  }
  constexpr std::string_view kBits = "bits:";
  if (spec.starts_with(kBits)) return parse_list(buffer, spec.substr(kBits.size()), parse_bits);
  std::vector<std::string_view> parts;
  for (std::string_view rest = spec;;) {
    const std::size_t colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  const std::string_view kind = parts[0];
  if (kind != "zeros" && kind != "iota" && kind != "random") {
    return parse_list(buffer, spec, parse_element);
  }

  std::uint64_t count = buffer.count;
  std::uint64_t seed = 0;
  const auto number = [&](std::size_t i, std::uint64_t& value) {
    if (parts.size() <= i || parts[i].empty()) return true;
    const auto read = std::from_chars(parts[i].data(), parts[i].data() + parts[i].size(), value);
    return read.ec == std::errc() && read.ptr == parts[i].data() + parts[i].size();
  };
  const std::size_t most_parts = kind == "random" ? 3 : 2;
  if (!number(1, count) || !number(2, seed) || parts.size() > most_parts) {
    return std::unexpected(
        bad_spec(buffer, fmt::format("`{}` contains something that is not a number.", spec)));
  }
  if (parts.size() < 2 && buffer.count == 0) {
    return std::unexpected(
        bad_spec(buffer, fmt::format("`{}` needs a count: the buffer has none.", spec)));
  }
  const std::uint64_t size = info(buffer.element).bytes;
  if (count > kMaxGenerated / size) {
    return std::unexpected(
        bad_spec(buffer, fmt::format("{} elements are more than 2 GiB.", count)));
  }
  if (kind == "zeros") return Bytes(count * size, std::byte{0});
  Bytes bytes;
  bytes.reserve(count * size);
  std::mt19937_64 random(seed);
  for (std::uint64_t i = 0; i < count; ++i) {
    append(bytes, buffer.element,
           kind == "iota" ? iota_bits(buffer.element, i) : random_bits(buffer.element, random));
  }
  return bytes;
}

nlohmann::json json_elements(Type type, ByteSpan bytes, ElementStyle style) {
  const TypeInfo& row = info(type);
  nlohmann::json list = nlohmann::json::array();
  for (std::size_t at = 0; at + row.bytes <= bytes.size(); at += row.bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, row.bytes);
    const int shift = 64 - row.bytes * 8;
    const double value = is_float(type) ? float_value({type, bits}) : 0;
    if (style == ElementStyle::Hex || !std::isfinite(value)) {
      list.push_back(print_elements(type, bytes.subspan(at, row.bytes), style, 1));
    } else if (is_float(type)) {
      list.push_back(value);
    } else if (row.kind == TypeClass::Signed) {
      list.push_back(static_cast<std::int64_t>(bits << shift) >> shift);
    } else {
      list.push_back(bits);
    }
  }
  return list;
}

std::string print_elements(Type type, ByteSpan bytes, ElementStyle style, std::size_t limit) {
  const TypeInfo& row = info(type);
  const std::size_t count = bytes.size() / row.bytes;
  std::string text;
  for (std::size_t i = 0; i < std::min(count, limit); ++i) {
    if (i > 0) text += ' ';
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * row.bytes, row.bytes);
    const auto out = std::back_inserter(text);
    if (style == ElementStyle::Hex) {
      fmt::format_to(out, "{:0{}x}", bits, row.bytes * 2);
    } else if (row.kind == TypeClass::Float) {
      // The shortest decimal that reads back as the same value; f16 and bf16 as the f32 they are,
      // so that whole numbers show all their digits.
      const double value = float_value({type, bits});
      if (type == Type::F64) {
        fmt::format_to(out, "{}", value);
      } else {
        fmt::format_to(out, "{}", static_cast<float>(value));
      }
    } else if (row.kind == TypeClass::Signed) {
      const int shift = 64 - row.bytes * 8;
      fmt::format_to(out, "{}", static_cast<std::int64_t>(bits << shift) >> shift);
    } else {
      fmt::format_to(out, "{}", bits);
    }
  }
  if (count > limit) text += fmt::format("{}… ({} more)", limit > 0 ? " " : "", count - limit);
  return text;
}

}  // namespace felsite::tool
