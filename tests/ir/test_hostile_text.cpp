// Hostile text: any bytes, any size, any depth. An error or a finding, soon, and never a crash.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/fels_text.h"
#include "support/random.h"

namespace {

using namespace felsite;
using test::findings_of;

// A million; less in debug and sanitizer builds, which are ten times slower.
#ifdef NDEBUG
constexpr std::size_t kMany = 1'000'000;
#else
constexpr std::size_t kMany = 100'000;
#endif

std::string repeat(std::string_view piece, std::size_t times) {
  std::string text;
  text.reserve(piece.size() * times);
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

std::string program(std::string_view statements) {
  return fmt::format("program p workgroup(64) {{ readwrite b: u32[4]; {} }}", statements);
}

// The code of the first finding, or "valid". What parses must also print, within 10 s in all.
std::string outcome(std::string_view text) {
  const auto parsed = ir::parse(text);
  const ir::Findings findings = parsed ? ir::validate(*parsed) : parsed.error();
  if (!findings.empty()) {
    CHECK(ir::render(findings.front(), text).size() < 2000);
    CHECK(ir::to_error(findings, "p").message.size() < 4000);
  }
  if (parsed) {
    const auto again = ir::parse(ir::print(*parsed));
    REQUIRE(again.has_value());
    CHECK(again->fingerprint() == parsed->fingerprint());
  }
  // The formatter is the same printer; small texts will do.
  if (parsed && text.size() < 100'000) CHECK(ir::format(text).has_value());
  return findings.empty() ? "valid" : std::string(ir::info(findings.front().code).id);
}

TEST_CASE("a text of the most bytes there may be is parsed, and one byte more is one finding") {
  std::string text = program("b[0] = 1;") + "//";
  text.resize(ir::kMaxTextBytes, 'x');
  CHECK(ir::parse(text).has_value());
  text += 'x';
  const auto refused = ir::parse(text);
  REQUIRE_FALSE(refused.has_value());
  REQUIRE(refused.error().size() == 1);
  CHECK(refused.error()[0].code == ir::FindingCode::BadEncoding);
  CHECK(refused.error()[0].message == "The text is longer than 64 MiB.");
  CHECK_FALSE(refused.error()[0].fix.empty());
  CHECK(refused.error()[0].line == 1);
  CHECK(ir::format(text).error().size() == 1);
}

TEST_CASE("hostile text: a million parentheses") {
  const std::string open = repeat("(", kMany);
  CHECK(outcome(program("b[0] = " + open)) == "F001");
  CHECK(outcome(program("b[0] = " + open + "1;")) == "F001");
  CHECK(outcome(program("b[0] = 1" + repeat(")", kMany) + ";")) == "F001");
  // Balanced ones are no operations, so they are no depth.
  const std::string balanced = program("b[0] = " + open + "1" + repeat(")", kMany) + ";");
  CHECK(outcome(balanced) == "valid");
}

TEST_CASE("hostile text: a million braces") {
  CHECK(outcome(program(repeat("{", kMany))) == "F034");
  CHECK(outcome(program(repeat("{", kMany) + repeat("}", kMany))) == "F034");
  CHECK(outcome(program(repeat("}", kMany))) == "F001");
  CHECK(outcome(repeat("{", kMany)) == "F001");
}

TEST_CASE("hostile text: bodies nest 256 deep and no deeper") {
  const auto nested = [](std::size_t depth) {
    return program(repeat("{", depth) + "b[0] = 1;" + repeat("}", depth));
  };
  CHECK(outcome(nested(256)) == "valid");
  CHECK(outcome(nested(257)) == "F034");
}

TEST_CASE("hostile text: a million prefix operators") {
  CHECK(outcome(program("b[0] = " + repeat("-", kMany) + "b[0];")) == "F034");
  CHECK(outcome(program("b[0] = " + repeat("~", kMany) + ";")) == "F001");
  CHECK(outcome(program("b[0] = u32(" + repeat("!", kMany) + "true);")) == "F034");
}

TEST_CASE("hostile text: an expression is 1024 operations deep and no deeper") {
  // A literal is one deep, each minus one more.
  CHECK(outcome(program("b[0] = " + repeat("-", 1023) + "b[0 * 1];")) == "F034");
  CHECK(outcome(program("b[0] = " + repeat("~", 1023) + "len(b);")) == "valid");
  CHECK(outcome(program("b[0] = " + repeat("~", 1024) + "len(b);")) == "F034");
}

TEST_CASE("hostile text: a sum of a million terms, to either side") {
  CHECK(outcome(program("b[0] = 1" + repeat(" + 1", kMany) + ";")) == "F034");
  CHECK(outcome(program("b[0] = " + repeat("1 + (", kMany) + "1" + repeat(")", kMany) + ";")) ==
        "F034");
  CHECK(outcome(program("b[0] = 1" + repeat(" + 1", 1023) + ";")) == "valid");
  CHECK(outcome(program("b[0] = 1" + repeat(" + 1", 1024) + ";")) == "F034");
}

TEST_CASE("hostile text: a million else-ifs") {
  const std::string chain = repeat("if true { } else ", kMany);
  CHECK(outcome(program(chain + "{ }")) == "F034");
  CHECK(outcome(program(repeat("if true { } else ", 255) + "if true { }")) == "valid");
  CHECK(outcome(program(repeat("if true { } else ", 256) + "if true { }")) == "F034");
  CHECK(outcome(program(repeat("else ", kMany))) == "F001");
}

TEST_CASE("hostile text: deep indices, calls, casts and loops") {
  CHECK(outcome(program("b[0] = " + repeat("b[", kMany) + "0" + repeat("]", kMany) + ";")) ==
        "F034");
  CHECK(outcome(program("b[0] = " + repeat("f(", kMany) + "0" + repeat(")", kMany) + ";")) ==
        "F034");
  CHECK(outcome(program("b[0] = " + repeat("atomic_add(b[0],", kMany))) == "F001");
  CHECK(outcome(program(repeat("loop i in 0..1 {", kMany))) == "F034");
}

TEST_CASE("hostile text: too many statements") {
  CHECK(outcome(program(repeat("{}", ir::kMaxNodes))) == "valid");
  CHECK(outcome(program(repeat("{}", ir::kMaxNodes + 1))) == "F035");
}

TEST_CASE("hostile text: a call with a million arguments") {
  const std::string call = "f(1" + repeat(",1", kMany) + ")";
  CHECK(outcome(program("b[0] = " + call + ";")) == "F010");
  CHECK(outcome(program("b[0] = min(1" + repeat(",1", kMany) + ");")) == "F027");
  const std::string op = "op f(x: u32) -> u32 { yield x; } ";
  CHECK(outcome(program(op + "b[0] = " + call + repeat(" / 0", 900) + ";")) == "F027");
}

TEST_CASE("hostile text: a million wrong statements give a thousand findings and a count") {
  const std::string text = program(repeat("x=1;", 900'000));
  const ir::Findings findings = findings_of(text);
  REQUIRE(findings.size() == ir::kMaxFindings + 1);
  CHECK(findings.back().code == ir::FindingCode::TooManyFindings);
  CHECK(findings.back().message == "899000 further findings are not listed.");
}

TEST_CASE("hostile text: huge numbers") {
  const std::string digits = repeat("9", kMany);
  CHECK(outcome(program("b[0] = " + digits + ";")) == "F003");
  CHECK(outcome(program("b[0] = 0x" + digits + ";")) == "F003");
  CHECK(outcome(program("let x = " + digits + ".0;")) == "F003");
  CHECK(outcome(program("let x = 1e" + digits + ";")) == "F003");
  CHECK(outcome(program("let x = 1e-" + digits + ";")) == "valid");
  CHECK(outcome(program("let x = 0." + repeat("0", kMany) + "1;")) == "valid");
  CHECK(outcome(program("let x = 1.0" + repeat("_", kMany) + ";")) == "valid");
  CHECK(outcome(program("let x = 0" + repeat("0", kMany) + ";")) == "valid");
  CHECK(outcome("program p workgroup(" + digits + ") { }") == "F003");
}

TEST_CASE("hostile text: names of ten megabytes") {
  const std::string name = repeat("n", 10 * kMany);
  CHECK(outcome(program("let " + name + " = 1;")) == "valid");
  CHECK(outcome(program("b[0] = " + name + ";")) == "F009");
  CHECK(outcome(program(name + "[0] = 1;")) == "F008");
  CHECK(outcome(program(name + "();")) == "F010");
  CHECK(outcome(program(name)) == "F001");
  CHECK(outcome("program " + name + " workgroup(1) { }") == "F004");
  CHECK(outcome(program("async_wait(" + name + ");")) == "F032");
}

TEST_CASE("hostile text: strings that do not end") {
  CHECK(outcome(program("region \"")) == "F001");
  CHECK(outcome(program("region \"" + repeat("x", kMany))) == "F001");
  CHECK(outcome("program p workgroup(1) { readonly b: u32[] hint(\"\n\"); }") == "F001");
  CHECK(outcome(program("region \"" + repeat("x", kMany) + "\" { }")) == "valid");
  CHECK(outcome(repeat("\"", kMany)) == "F001");
}

TEST_CASE("hostile text: a million comments and blank lines") {
  CHECK(outcome(program(repeat("// c\n", kMany) + "b[0] = 1;")) == "valid");
  CHECK(outcome(program(repeat("\n", kMany) + "b[0] = 1;" + repeat("\n \t", kMany))) == "valid");
  CHECK(outcome("//" + repeat("/", kMany)) == "F001");
}

TEST_CASE("hostile text: NUL, and every kind of invalid UTF-8") {
  using namespace std::string_view_literals;
  for (const std::string_view bytes :
       {"\0"sv, "\x80"sv, "\xBF"sv, "\xC0\x80"sv, "\xC1\xBF"sv, "\xC3"sv, "\xE0\x80\x80"sv,
        "\xE0\x9F\xBF"sv, "\xE2\x82"sv, "\xED\xA0\x80"sv, "\xF0\x80\x80\x80"sv,
        "\xF0\x8F\xBF\xBF"sv, "\xF4\x90\x80\x80"sv, "\xF5\x80\x80\x80"sv, "\xFE"sv, "\xFF"sv}) {
    // In a comment, in a string, at the end: everywhere.
    CHECK(outcome(program(fmt::format("// {}\nreturn;", bytes))) == "F002");
    CHECK(outcome(program(fmt::format("region \"{}\" {{ }}", bytes))) == "F002");
    CHECK(outcome(program("return;") + std::string(bytes)) == "F002");
  }
  for (const std::string_view good :
       {"\xC2\x80"sv, "\xE0\xA0\x80"sv, "\xED\x9F\xBF"sv, "\xEE\x80\x80"sv, "\xF0\x90\x80\x80"sv,
        "\xF4\x8F\xBF\xBF"sv, "\x7F"sv, "\x01"sv}) {
    CHECK(outcome(program(fmt::format("region \"{}\" {{ }}", good))) == "valid");
  }
}

TEST_CASE("hostile text: the place of a bad byte is its line and column") {
  CHECK(test::found("program p\n  workgroup\xC3(1) { }") == "F002@2:12");
}

TEST_CASE("hostile text: binary junk") {
  const std::uint64_t seed = test::run_seed();
  test::Random random(seed);
  INFO("FELSITE_TEST_SEED=", seed);
  for (int round = 0; round < 500; ++round) {
    std::string text(random.below(400), '\0');
    // Bytes of all kinds, then only printable ones, which get past the decoder.
    for (char& c : text) {
      c = static_cast<char>(round % 2 == 0 ? random.below(256) : 32 + random.below(95));
    }
    CHECK(outcome(text) != "valid");
    CHECK(outcome(program(text)) != "");
  }
}

// One of each construct, in few lines.
constexpr std::string_view kDense =
    "program all workgroup(8, 2) fast { readonly r: u32[]; readwrite b: u32[8] binding(3) "
    "hint(\"h\"); "
    "output o: f16[4]; workgroup t: u32[8]; op f(x: u32, y: f32) -> u32 { let z = x; yield z + "
    "u32(y); } "
    "indirect_dispatch(r[0]); let a = -5i32; a = ~a << 1i32; // c\n"
    "if a < 0i32 && !false { b[0] = f(1, 1.5e-3); } else if true { return; } else { o[1] = "
    "inf_f16; } "
    "loop i in 0..len(b) { region \"é\" { atomic_compare_exchange.acq_rel(b[i], 0x1F, 2_0); } } "
    "barrier.seq_cst; gridsync; async_load(t[0], r[1], 4, q); async_wait(q); trap(1, bad); "
    "resume(bad); "
    "let w = select(subgroup_add(1.0) > 0.5, bitcast<u32>(1.5), min(local.x, subgroup_lane)); "
    "all_reduce.add(b); all_gather(b, r); broadcast(b, 1); return; }";

TEST_CASE("hostile text: every truncation of a valid program") {
  REQUIRE(outcome(kDense) == "valid");
  for (std::size_t length = 0; length < kDense.size(); ++length) {
    INFO("length ", length);
    const std::string result = outcome(kDense.substr(0, length));
    CHECK(result != "valid");
  }
}

TEST_CASE("hostile text: every single byte of a valid program removed or doubled") {
  for (std::size_t at = 0; at < kDense.size(); ++at) {
    std::string text(kDense);
    text.erase(at, 1);
    CHECK(outcome(text) != "");
    text = kDense;
    text.insert(at, 1, kDense[at]);
    CHECK(outcome(text) != "");
  }
}

TEST_CASE("hostile text: random mutations of a valid program") {
  const std::uint64_t seed = test::run_seed();
  test::Random random(seed);
  constexpr std::string_view kBytes = "(){}[];:,.=+-*/%&|^~!<>\"_ \n09afuxe\\\x7f";
  for (int round = 0; round < 4000; ++round) {
    std::string text(kDense);
    const std::uint32_t changes = 1 + random.below(6);
    for (std::uint32_t i = 0; i < changes; ++i) {
      const std::size_t at = random.below(static_cast<std::uint32_t>(text.size()));
      const std::size_t other = random.below(static_cast<std::uint32_t>(text.size()));
      const std::size_t length = 1 + random.below(12);
      switch (random.below(5)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text[at] = random.pick(kBytes);
          break;
        case 2:
          text.erase(at, length);
          break;
        case 3:
          text.insert(at, 1, random.pick(kBytes));
          break;
        default:
          text.insert(at, text.substr(other, length));
          break;
      }
      if (text.empty()) text.assign(1, ' ');
    }
    INFO("FELSITE_TEST_SEED=", seed, ", round ", round, "\n", text);
    CHECK(outcome(text) != "");
  }
}

}  // namespace
