// Decimals at and beside the ties of every float type. The truth needs no rounding: a tie is
// written out digit by digit, which is exact, and what is next to it differs from it in a digit far
// behind.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

#include "felsite/literal.h"
#include "support/fels_text.h"

namespace {

using namespace felsite;
using ir::Type;

static_assert(std::numeric_limits<long double>::digits >= 64, "holds the ties of f64");

struct Format {
  Type type;
  const char* suffix;
  int mantissa_bits;
  int bias;
};
constexpr Format kF16{Type::F16, "f16", 10, 15};
constexpr Format kBf16{Type::BF16, "bf16", 7, 127};
constexpr Format kF32{Type::F32, "f32", 23, 127};
constexpr Format kF64{Type::F64, "f64", 52, 1023};

// By the definition of the format.
long double value_of(const Format& format, std::uint64_t pattern) {
  const std::uint64_t one = std::uint64_t{1} << format.mantissa_bits;
  const std::uint64_t mantissa = pattern & (one - 1);
  const int exponent = static_cast<int>(pattern >> format.mantissa_bits);
  if (exponent == 0) {
    return std::ldexp(static_cast<long double>(mantissa), 1 - format.bias - format.mantissa_bits);
  }
  return std::ldexp(static_cast<long double>(mantissa + one),
                    exponent - format.bias - format.mantissa_bits);
}

// Every digit, with at least one behind the point.
std::string written_out(long double value) {
  std::string text(2000, '\0');
  const int size = std::snprintf(text.data(), text.size(), "%.1200Lf", value);
  text.resize(static_cast<std::size_t>(size));
  text.resize(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text += '0';
  return text;
}

std::string just_above(const std::string& text) { return text + std::string(30, '0') + "1"; }

// 12.5 is 12.4999…, 120.0 is 119.9999…
std::string just_below(std::string text) {
  const std::size_t last = text.find_last_of("123456789");
  --text[last];
  for (std::size_t i = last + 1; i < text.size(); ++i) {
    if (text[i] == '0') text[i] = '9';
  }
  return text + std::string(30, '9');
}

void check_decimal(const Format& format, const std::string& decimal, std::uint64_t pattern) {
  const auto literal = ir::decimal_literal(format.type, decimal);
  REQUIRE(literal.has_value());
  CHECK_MESSAGE(literal->bits == pattern, decimal);
}

void check_tie(const Format& format, std::uint64_t below) {
  const std::string tie = written_out((value_of(format, below) + value_of(format, below + 1)) / 2);
  check_decimal(format, tie, below + (below & 1));
  check_decimal(format, just_above(tie), below + 1);
  check_decimal(format, just_below(tie), below);
}

std::uint64_t least_normal(const Format& format) {
  return std::uint64_t{1} << format.mantissa_bits;
}

TEST_CASE("decimals: every tie of f16, and what is beside it, is rounded once") {
  for (std::uint64_t below = 0; below + 1 < 0x7C00; ++below) check_tie(kF16, below);
}

TEST_CASE("decimals: every tie of bf16 is rounded once") {
  for (std::uint64_t below = least_normal(kBf16); below + 1 < 0x7F80; below += 5) {
    check_tie(kBf16, below);
  }
}

TEST_CASE("decimals: ties of f32 and f64 are rounded once") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 3000; ++i) {
    check_tie(kF32, least_normal(kF32) + random() % (0x7F7FFFFF - least_normal(kF32)));
    check_tie(kF64, least_normal(kF64) + random() % (0x7FEFFFFFFFFFFFFF - least_normal(kF64)));
  }
  check_tie(kF32, 0x3F800000);
  check_tie(kF32, 0x7F7FFFFE);
  check_tie(kF64, 0x7FEFFFFFFFFFFFFE);
}

TEST_CASE("decimals: below the least normal is zero, rounded as though exponents went on") {
  for (const Format& format : {kBf16, kF32, kF64}) {
    const long double least = value_of(format, least_normal(format));
    const std::string tie = written_out(least - std::ldexp(least, -format.mantissa_bits - 2));
    check_decimal(format, tie, least_normal(format));
    check_decimal(format, just_above(tie), least_normal(format));
    check_decimal(format, just_below(tie), 0);
    check_decimal(format, "-" + just_below(tie),
                  std::uint64_t{1} << (ir::info(format.type).bytes * 8 - 1));
  }
  check_decimal(kF16, written_out(std::ldexp(1.0L, -25)), 0);
  check_decimal(kF16, just_above(written_out(std::ldexp(1.0L, -25))), 1);
}

TEST_CASE("decimals: what rounds to infinity is refused, and what does not is the largest") {
  for (const Format& format : {kF16, kBf16, kF32, kF64}) {
    const std::uint64_t largest =
        ((static_cast<std::uint64_t>(format.bias) * 2 + 1) << format.mantissa_bits) - 1;
    const long double step = value_of(format, largest) - value_of(format, largest - 1);
    const std::string tie = written_out(value_of(format, largest) + step / 2);
    CHECK_FALSE(ir::decimal_literal(format.type, tie).has_value());
    CHECK_FALSE(ir::decimal_literal(format.type, just_above(tie)).has_value());
    check_decimal(format, just_below(tie), largest);
  }
  CHECK_FALSE(ir::decimal_literal(Type::F64, "1e999999999999999999999").has_value());
  check_decimal(kF64, "1e-999999999999999999999", 0);
}

TEST_CASE("decimals: the text of a program and decimal_literal agree at ties") {
  const std::string tie = written_out((value_of(kF16, 0x3C00) + value_of(kF16, 0x3C01)) / 2);
  for (const auto& [text, pattern] :
       {std::pair{tie, 0x3C00u}, {just_above(tie), 0x3C01u}, {just_below(tie), 0x3C00u}}) {
    const auto program = ir::parse("program p workgroup(1) { let v = " + text + "f16; }");
    REQUIRE(program.has_value());
    CHECK(program->expr(program->node(0).args[0]).literal_bits() == pattern);
  }
}

TEST_CASE("decimals: any number of digits, and what is no decimal") {
  check_decimal(kF32, "1." + std::string(100'000, '0') + "1", 0x3F800000);
  check_decimal(kF32, "1.00000005960464477539062500001", 0x3F800001);
  check_decimal(kF32, "1.000000059604644775390625" + std::string(100'000, '0') + "1", 0x3F800001);
  check_decimal(kF32, "0." + std::string(50'000, '0') + "1e50001", 0x3F800000);
  check_decimal(kF32, "+1" + std::string(50'000, '0') + "e-50000", 0x3F800000);
  check_decimal(kF32, "-.5", 0xBF000000);
  for (const char* text :
       {"", "-", "+-1", "--1", "1e", "inf", "nan", "0x1", "1f", "1.5.5", " 1", "e1"}) {
    INFO(text);
    CHECK_FALSE(ir::decimal_literal(Type::F32, text).has_value());
  }
  CHECK_FALSE(ir::decimal_literal(Type::U32, "1").has_value());
}

}  // namespace
