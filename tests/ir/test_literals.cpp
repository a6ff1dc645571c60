// Literals: limits, spellings, and the rounding of narrow floats against a table search.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "felsite/literal.h"
#include "support/fels_text.h"
#include "support/random.h"

namespace {

using namespace felsite;
using ir::Literal;
using ir::Type;

// The literal in `let v = text;`, or the code of what is wrong with it.
std::string literal_outcome(std::string_view text) {
  const std::string program_text = fmt::format("program p workgroup(1) {{ let v = {}; }}", text);
  const auto program = ir::parse(program_text);
  if (!program) return std::string(ir::info(program.error().front().code).id);
  const ir::Expr& e = program->expr(program->node(0).args[0]);
  if (e.kind != ir::ExprKind::Literal) return "operation";
  return fmt::format("{} {:#x}", ir::info(e.type).name, e.literal_bits());
}

std::string bits(std::string_view type, std::uint64_t value) {
  return fmt::format("{} {:#x}", type, value);
}

// The truth about narrow floats: the nearest of all finite values, ties to the even bit pattern.
// Values are built from the definition of the format, not with the code under test.
double value_by_definition(Type type, std::uint32_t pattern) {
  const int mantissa_bits = type == Type::F16 ? 10 : 7;
  const int bias = type == Type::F16 ? 15 : 127;
  const auto mantissa = static_cast<double>(pattern & ((1u << mantissa_bits) - 1));
  const int exponent = static_cast<int>((pattern & 0x7FFF) >> mantissa_bits);
  const double scale = std::pow(2.0, mantissa_bits);
  const double magnitude = exponent == 0 ? mantissa / scale * std::pow(2.0, 1 - bias)
                                         : (1 + mantissa / scale) * std::pow(2.0, exponent - bias);
  return (pattern & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST_CASE("literals: without a suffix integers are u32 and decimals f32") {
  CHECK(literal_outcome("7") == "u32 0x7");
  CHECK(literal_outcome("7.0") == "f32 0x40e00000");
  CHECK(literal_outcome("7e0") == "f32 0x40e00000");
  CHECK(literal_outcome("true") == "bool 0x1");
  CHECK(literal_outcome("false") == "bool 0x0");
}

TEST_CASE("literals: the limits of every integer type, and one past them") {
  struct Row {
    std::string_view type, most, too_many, least, too_few;
  };
  for (const Row& row : {
           Row{"u8", "255", "256", "0", "-1"},
           Row{"i8", "127", "128", "-128", "-129"},
           Row{"u16", "65535", "65536", "0", "-1"},
           Row{"i16", "32767", "32768", "-32768", "-32769"},
           Row{"u32", "4294967295", "4294967296", "0", "-1"},
           Row{"i32", "2147483647", "2147483648", "-2147483648", "-2147483649"},
           Row{"u64", "18446744073709551615", "18446744073709551616", "0", "-1"},
           Row{"i64", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
               "-9223372036854775809"},
       }) {
    INFO(row.type);
    CHECK(literal_outcome(fmt::format("{}{}", row.most, row.type)).starts_with(row.type));
    CHECK(literal_outcome(fmt::format("{}{}", row.least, row.type)).starts_with(row.type));
    CHECK(literal_outcome(fmt::format("{}{}", row.too_many, row.type)) == "F003");
    CHECK(literal_outcome(fmt::format("{}{}", row.too_few, row.type)) == "F003");
  }
}

TEST_CASE("literals: negative integers are two's complement in their width") {
  CHECK(literal_outcome("-1i8") == "i8 0xff");
  CHECK(literal_outcome("-1i16") == "i16 0xffff");
  CHECK(literal_outcome("-1i32") == "i32 0xffffffff");
  CHECK(literal_outcome("-1i64") == "i64 0xffffffffffffffff");
  CHECK(literal_outcome("-128i8") == "i8 0x80");
  CHECK(literal_outcome("-0i32") == "i32 0x0");
}

TEST_CASE("literals: hexadecimal numbers") {
  CHECK(literal_outcome("0xFF") == "u32 0xff");
  CHECK(literal_outcome("0Xff") == "u32 0xff");
  CHECK(literal_outcome("0xFFFF_FFFF") == "u32 0xffffffff");
  CHECK(literal_outcome("0x1_0000_0000") == "F003");
  CHECK(literal_outcome("0xFFFFFFFFFFFFFFFFu64") == "u64 0xffffffffffffffff");
  CHECK(literal_outcome("0x80i8") == "F003");
  CHECK(literal_outcome("-0x80i8") == "i8 0x80");
  CHECK(literal_outcome("0x1f32") == "u32 0x1f32");
  CHECK(literal_outcome("0xbf16") == "u32 0xbf16");
  CHECK(literal_outcome("0x1e4") == "u32 0x1e4");
  for (const std::string_view bad : {"0x", "0xg", "0xu32", "0x_", "0x1.5", "00x1"}) {
    INFO(bad);
    CHECK(literal_outcome(bad) == "F001");
  }
}

TEST_CASE("literals: underscores separate digits anywhere after the first") {
  CHECK(literal_outcome("1_000_000") == "u32 0xf4240");
  CHECK(literal_outcome("1__0_") == "u32 0xa");
  CHECK(literal_outcome("1_0u8") == "u8 0xa");
  CHECK(literal_outcome("1_0.2_5") == "f32 0x41240000");
  CHECK(literal_outcome("1_u32") == "u32 0x1");
}

TEST_CASE("literals: things that look like numbers and are none") {
  for (const std::string_view bad :
       {"1a", "1u33", "1bool", "1e", "1e+", "1.", "1..2", "1.5u32", "1e3i32", "0b101", "5f", "1.5f",
        "1f8", "1u", "1_x", "1.5.5"}) {
    INFO(bad);
    CHECK(literal_outcome(bad) == "F001");
  }
}

TEST_CASE("literals: f32 is rounded once, from the decimal") {
  CHECK(literal_outcome("0.1") == "f32 0x3dcccccd");
  CHECK(literal_outcome("16777217.0") == "f32 0x4b800000");  // a tie, to even
  CHECK(literal_outcome("16777217.000000000000000001") ==
        "f32 0x4b800001");  // just above it: f64 would tie
  CHECK(literal_outcome("3.4028234663852886e38") == "f32 0x7f7fffff");
  CHECK(literal_outcome("3.4028235677973365e38") ==
        "f32 0x7f7fffff");  // below the half step to infinity
  CHECK(literal_outcome("3.4028235677973367e38") == "F003");
  CHECK(literal_outcome("1e39") == "F003");
  CHECK(literal_outcome("-1e39") == "F003");
  CHECK(literal_outcome("1e400") == "F003");
  CHECK(literal_outcome("1e99999999999999999999") == "F003");
}

TEST_CASE("literals: f32 subnormals are zeros of the same sign") {
  CHECK(literal_outcome("1.1754943508222875e-38") == "f32 0x800000");
  CHECK(literal_outcome("1.17549421e-38") == "f32 0x0");
  CHECK(literal_outcome("-1e-40") == "f32 0x80000000");
  CHECK(literal_outcome("1e-400") == "f32 0x0");
  CHECK(literal_outcome("-1e-99999999999999999999") == "f32 0x80000000");
}

TEST_CASE("literals: f32 just below the least normal rounds as though exponents went on") {
  // 2^-126 - 2^-150 has 24 bits, so it is below 2^-126 for good, though gradual underflow would
  // round it up; 2^-126 - 2^-151 has 25 and rounds to 2^-126.
  CHECK(literal_outcome("1.17549428082322025e-38") == "f32 0x0");
  CHECK(literal_outcome("1.17549431585e-38") == "f32 0x800000");
  CHECK(literal_outcome("-1.17549428082322025e-38") == "f32 0x80000000");
  CHECK(ir::float_literal(Type::F32, std::ldexp(1.0, -126) - std::ldexp(1.0, -150)).bits == 0);
  CHECK(ir::float_literal(Type::F32, std::ldexp(1.0, -126) - std::ldexp(1.0, -151)).bits ==
        0x800000);
}

TEST_CASE("literals: f64") {
  CHECK(literal_outcome("0.1f64") == "f64 0x3fb999999999999a");
  CHECK(literal_outcome("1.7976931348623157e308f64") == "f64 0x7fefffffffffffff");
  CHECK(literal_outcome("1.8e308f64") == "F003");
  CHECK(literal_outcome("2.2250738585072014e-308f64") == "f64 0x10000000000000");
  CHECK(literal_outcome("2.2250738585072009e-308f64") == "f64 0x0");
  CHECK(literal_outcome("-4.9e-324f64") == "f64 0x8000000000000000");
}

TEST_CASE("literals: f16 limits, ties and subnormals") {
  CHECK(literal_outcome("65504f16") == "f16 0x7bff");
  CHECK(literal_outcome("65519.99f16") == "f16 0x7bff");
  CHECK(literal_outcome("65520f16") == "F003");
  CHECK(literal_outcome("1e300f16") == "F003");
  CHECK(literal_outcome("1e400f16") == "F003");
  CHECK(literal_outcome("1.00048828125f16") == "f16 0x3c00");  // half a step: to even
  CHECK(literal_outcome("1.00146484375f16") == "f16 0x3c02");  // one and a half: to even
  CHECK(literal_outcome("1.0004882812501f16") == "f16 0x3c01");
  CHECK(literal_outcome("0.00006103515625f16") == "f16 0x400");     // the least normal
  CHECK(literal_outcome("5.960464477539063e-8f16") == "f16 0x1");   // the least subnormal is kept
  CHECK(literal_outcome("2.9802322387695312e-8f16") == "f16 0x0");  // half of it: to even
  CHECK(literal_outcome("2.99e-8f16") == "f16 0x1");
  CHECK(literal_outcome("-1e-30f16") == "f16 0x8000");
}

TEST_CASE("literals: bf16 limits, ties and flushing") {
  CHECK(literal_outcome("1bf16") == "bf16 0x3f80");
  CHECK(literal_outcome("1.00390625bf16") == "bf16 0x3f80");  // half a step: to even
  CHECK(literal_outcome("1.01171875bf16") == "bf16 0x3f82");  // one and a half: to even
  CHECK(literal_outcome("3.3895313892515355e38bf16") == "bf16 0x7f7f");
  CHECK(literal_outcome("3.4e38bf16") == "F003");
  CHECK(literal_outcome("1.1754943508222875e-38bf16") == "bf16 0x80");
  CHECK(literal_outcome("1.16e-38bf16") == "bf16 0x0");
  CHECK(literal_outcome("-1e-39bf16") == "bf16 0x8000");
}

TEST_CASE("literals: every f16 and bf16 value prints and reads back as itself") {
  for (const Type type : {Type::F16, Type::BF16}) {
    std::string text = "program p workgroup(1) {";
    for (std::uint32_t pattern = 0; pattern < 0x10000; ++pattern) {
      const Literal canonical{type, ir::canonical_bits(type, pattern)};
      const double value = ir::float_value(canonical);
      const bool finite = std::isfinite(value);
      if (finite) {
        const bool flushed = type == Type::BF16 && (pattern & 0x7F80) == 0;
        const double truth = flushed ? 0.0 : value_by_definition(type, pattern);
        if (value != truth) FAIL_CHECK(pattern);
      }
      // A float literal of that value has its bits; NaNs have one pattern.
      if (ir::float_literal(type, value).bits != canonical.bits) FAIL_CHECK(pattern);
    }
    for (std::uint32_t pattern = 0; pattern < 0x10000; pattern += 7) {
      text += fmt::format("let _ = bitcast<{}>({}u16);", ir::info(type).name, pattern);
    }
    CHECK(ir::parse(text + "}").has_value());
  }
}

TEST_CASE("literals: random decimals round to the nearest f16 and bf16 by search") {
  const std::uint64_t seed = test::run_seed();
  test::Random random(seed);
  for (const Type type : {Type::F16, Type::BF16}) {
    for (int round = 0; round < 300; ++round) {
      const std::uint32_t pattern = 0x0400 + random.below(0x7700 - 0x0400);
      const double low = value_by_definition(type, pattern);
      const double high = value_by_definition(type, pattern + 1);
      const double value = low + (high - low) * random.below(1001) / 1000.0;
      const double to_low = value - low;
      const double to_high = high - value;
      const bool even_low = (pattern & 1) == 0;
      const bool take_low = to_low < to_high || (to_low == to_high && even_low);
      INFO("FELSITE_TEST_SEED=", seed, ", ", ir::info(type).name, " ", value);
      // With all its digits: a tie is one only as it is.
      CHECK(literal_outcome(fmt::format("{:.400e}{}", value, ir::info(type).name)) ==
            bits(ir::info(type).name, take_low ? pattern : pattern + 1));
    }
  }
}

TEST_CASE("literals: random f32 and f64 print and read back") {
  const std::uint64_t seed = test::run_seed();
  test::Random random(seed + 2);
  for (int round = 0; round < 1500; ++round) {
    for (const Type type : {Type::F32, Type::F64}) {
      const std::uint64_t pattern = ir::canonical_bits(type, random.bits());
      const double value = type == Type::F32
                               ? double{std::bit_cast<float>(static_cast<std::uint32_t>(pattern))}
                               : std::bit_cast<double>(pattern);
      if (!std::isfinite(value)) continue;
      const std::string_view name = ir::info(type).name;
      INFO("FELSITE_TEST_SEED=", seed, ", ", name, " ", pattern);
      CHECK(literal_outcome(fmt::format("{:.17g}{}", value, name)) == bits(name, pattern));
    }
  }
}

TEST_CASE("literals: infinities and NaNs of every float type") {
  CHECK(literal_outcome("inf") == "f32 0x7f800000");
  CHECK(literal_outcome("-inf") == "f32 0xff800000");
  CHECK(literal_outcome("nan") == "f32 0x7fc00000");
  CHECK(literal_outcome("inf_f16") == "f16 0x7c00");
  CHECK(literal_outcome("-inf_f16") == "f16 0xfc00");
  CHECK(literal_outcome("nan_f16") == "f16 0x7e00");
  CHECK(literal_outcome("inf_bf16") == "bf16 0x7f80");
  CHECK(literal_outcome("-inf_bf16") == "bf16 0xff80");
  CHECK(literal_outcome("nan_bf16") == "bf16 0x7fc0");
  CHECK(literal_outcome("inf_f64") == "f64 0x7ff0000000000000");
  CHECK(literal_outcome("-inf_f64") == "f64 0xfff0000000000000");
  CHECK(literal_outcome("nan_f64") == "f64 0x7ff8000000000000");
  CHECK(literal_outcome("inf_f32") == "operation");  // a name like any other
}

TEST_CASE("literals: past the range is an error above and zero below, wherever the point stands") {
  CHECK(literal_outcome("1" + std::string(400, '0') + ".0f64") == "F003");
  CHECK(literal_outcome("0." + std::string(400, '0') + "1e900f64") == "F003");
  CHECK(literal_outcome("1e99999999999999999999f64") == "F003");
  CHECK(literal_outcome("0." + std::string(400, '0') + "1f64") == literal_outcome("0.0f64"));
  CHECK(literal_outcome("1" + std::string(400, '0') + ".0e-900f64") == literal_outcome("0.0f64"));
  CHECK(literal_outcome("1e-99999999999999999999f64") == literal_outcome("0.0f64"));
}

TEST_CASE("literals: canonical bits") {
  CHECK(ir::canonical_bits(Type::Bool, 0x100) == 1);
  CHECK(ir::canonical_bits(Type::Bool, 0x1'0000'0000) == 0);
  CHECK(ir::canonical_bits(Type::U8, 0x1FF) == 0xFF);
  CHECK(ir::canonical_bits(Type::F32, 0xFFFFFFFF) == 0x7FC00000);
  CHECK(ir::canonical_bits(Type::F32, 0x807FFFFF) == 0x80000000);
  CHECK(ir::canonical_bits(Type::F16, 0x83FF) == 0x83FF);
  CHECK(ir::canonical_bits(Type::F16, 0xFC01) == 0x7E00);
  CHECK(ir::canonical_bits(Type::BF16, 0x007F) == 0);
  CHECK(ir::canonical_bits(Type::F64, 0x800FFFFFFFFFFFFF) == 0x8000000000000000);
}

}  // namespace
