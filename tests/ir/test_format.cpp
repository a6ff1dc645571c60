// The formatter: canonical text that keeps every comment and the blank lines between items.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/fels_text.h"
#include "support/program_generator.h"

namespace {

using namespace felsite;

// Formats, and demands that formatting again changes nothing and the program is the same.
std::string formatted(std::string_view text) {
  const auto once = ir::format(text);
  INFO(text);
  REQUIRE_MESSAGE(once.has_value(), ir::render(once.error().front(), text));
  INFO(*once);
  const auto twice = ir::format(*once);
  REQUIRE_MESSAGE(twice.has_value(), ir::render(twice.error().front(), *once));
  CHECK(*twice == *once);
  CHECK(test::parsed(*once).fingerprint() == test::parsed(text).fingerprint());
  return *once;
}

std::string body(std::string_view statements) {
  return fmt::format("program p workgroup(1) {{\n  readwrite b: u32[4];\n{}}}\n", statements);
}

TEST_CASE("format: text without comments and blank lines is indented canonically") {
  CHECK(formatted("program p workgroup(1){readwrite b:u32[4];b[0]=1+2*3;if true{b[1]=(4);}}") ==
        body("  b[0] = 1 + 2 * 3;\n  if true {\n    b[1] = 4;\n  }\n"));
}

TEST_CASE("format: comments on lines of their own keep their places") {
  const std::string text =
      "// one\n// two\nprogram p workgroup(1) {\n  // three\n  readwrite b: u32[4];\n  // four\n"
      "  b[0] = 1;\n  // five\n  if true {\n    // six\n    b[1] = 1;\n    // seven\n  } else {\n"
      "    // eight\n    b[2] = 1;\n    // nine\n  }\n  // ten\n}\n// eleven\n";
  CHECK(formatted(text) == text);
}

TEST_CASE("format: comments behind items stay behind them") {
  const std::string text =
      "program p workgroup(1) {  // one\n  readwrite b: u32[4];  // two\n  b[0] = 1;  // three\n"
      "  loop i in 0..4 {  // four\n    b[i] = i;  // five\n  }  // six\n}  // seven\n";
  CHECK(formatted(text) == text);
}

TEST_CASE("format: comments in an operation stay in it") {
  const std::string text =
      "program p workgroup(1) {\n  // one\n  op f(x: u32) -> u32 {  // two\n    // three\n"
      "    let y = x;  // four\n    // five\n    yield y;  // six\n    // seven\n  }  // eight\n"
      "  // nine\n  return;\n}\n";
  CHECK(formatted(text) == text);
}

TEST_CASE("format: comments in an else-if chain stay in their arms") {
  const std::string text = body(
      "  if b[0] == 0 {  // one\n    b[1] = 1;  // two\n  } else if b[0] == 1 {  // three\n"
      "    // four\n    b[1] = 2;\n    // five\n  } else {  // six\n    b[1] = 3;\n  }  // "
      "seven\n");
  CHECK(formatted(text) == text);
}

TEST_CASE("format: an else that holds one if becomes else if, with its comments") {
  const std::string out = formatted(
      body("  if true {\n    b[0] = 1;\n  } else { // one\n    if false { // two\n      b[1] = 1;\n"
           "    } // three\n  } // four\n"));
  CHECK(out.find("} else if false {") != std::string::npos);
  for (const std::string_view comment : {"// one", "// two", "// three", "// four"}) {
    CHECK(out.find(comment) != std::string::npos);
  }
}

TEST_CASE("format: a comment in the middle of a statement moves behind it") {
  CHECK(formatted(body("  b[0] = 1 + // why\n    2;\n")) == body("  b[0] = 1 + 2;  // why\n"));
  CHECK(formatted(body("  b[0] = 1 +\n    // why\n    2;\n  b[1] = 1;\n")) ==
        body("  b[0] = 1 + 2;\n  // why\n  b[1] = 1;\n"));
}

TEST_CASE("format: comments in an empty body, an empty else and an empty program are kept") {
  CHECK(formatted(body("  if true {\n    // nothing\n  }\n")) ==
        body("  if true {\n    // nothing\n  }\n"));
  CHECK(formatted(body("  if true {\n    b[0] = 1;\n  } else {\n    // nothing\n  }\n"))
            .find("// nothing") != std::string::npos);
  CHECK(formatted("program p workgroup(1) {\n  // nothing\n}\n") ==
        "program p workgroup(1) {\n  // nothing\n}\n");
}

TEST_CASE("format: between items one blank line of several stays") {
  CHECK(formatted("program p workgroup(1) {\n\n\n  readwrite b: u32[4];\n\n\n\n  b[0] = 1;\n\t\n \n"
                  "  b[1] = 1;\n\n\n}\n\n\n") ==
        "program p workgroup(1) {\n  readwrite b: u32[4];\n\n  b[0] = 1;\n\n  b[1] = 1;\n}\n");
}

TEST_CASE("format: blank lines between comments and items stay") {
  const std::string text =
      "// one\n\n// two\n\nprogram p workgroup(1) {\n  // three\n\n  // four\n  return;\n\n  // "
      "five\n}\n"
      "\n// six\n\n// seven\n";
  CHECK(formatted(text) == text);
}

TEST_CASE("format: a blank line before else or a closing brace goes") {
  CHECK(formatted(body("  if true {\n    b[0] = 1;\n  }\n\n  else {\n    b[1] = 1;\n\n  }\n")) ==
        body("  if true {\n    b[0] = 1;\n  } else {\n    b[1] = 1;\n  }\n"));
}

TEST_CASE("format: a blank line before a statement that merely starts like else stays") {
  const std::string text = body("  let elsewhere = 1;\n\n  elsewhere = 2;\n");
  CHECK(formatted(text) == text);
}

TEST_CASE("format: blank lines at the end of the text go, with and without comments") {
  CHECK(formatted("program p workgroup(1) { return; }\n\n\n\n") ==
        "program p workgroup(1) {\n  return;\n}\n");
  CHECK(formatted("program p workgroup(1) { return; } // end\n\n\n") ==
        "program p workgroup(1) {\n  return;\n}  // end\n");
  CHECK(formatted("program p workgroup(1) { return; }\n// end") ==
        "program p workgroup(1) {\n  return;\n}\n// end\n");
}

TEST_CASE("format: carriage returns and trailing space go") {
  CHECK(formatted("program p workgroup(1) {\r\n  return; // x \t\r\n\r\n}\r\n") ==
        "program p workgroup(1) {\n  return;  // x\n}\n");
}

TEST_CASE("format: text that does not parse gives the finding") {
  const auto result = ir::format("program p workgroup(1) { return }");
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().front().code == ir::FindingCode::Syntax);
  CHECK(result.error().front().column == 33);
}

TEST_CASE("format: a program that does not validate is formatted all the same") {
  CHECK(formatted("program p workgroup(1) { x = nosuch[1.5]; }") ==
        "program p workgroup(1) {\n  x = nosuch[1.5];\n}\n");
}

TEST_CASE("format: without comments and blank lines it is print, but for the line before code") {
  const std::string text =
      "program p workgroup(1) {\n  op f() -> u32 {\n    yield 1;\n  }\n  return;\n}\n";
  CHECK(formatted(text) == text);
}

TEST_CASE("format: a comment between any two tokens is kept, and formatting is idempotent") {
  const std::string tokens =
      "program p workgroup ( 4 , 2 ) fast { output b : u32 [ 4 ] binding ( 3 ) hint ( \"h\" ) ; "
      "op f ( x : u32 , y : u32 ) -> u32 { let z = x ; yield z + y ; } let a = - f ( 1 , 2 ) ; "
      "if a < 3 { a = 1 ; } else if a == 4 { b [ 0 ] = b [ 1 ] ; } else { barrier . seq_cst ; } "
      "loop i in 0 .. 4 { region \"r\" { { return ; } } } trap ( 1 , t ) ; resume ( t ) ; "
      "atomic_add . relaxed ( b [ 0 ] , u32 ( 1.5 ) ) ; }";
  for (std::size_t at = 0; at <= tokens.size(); ++at) {
    if (at != 0 && at != tokens.size() && tokens[at] != ' ') continue;
    for (const std::string_view comment : {" // kept\n", "\n// kept\n", "\n\n// kept\n\n"}) {
      std::string text = tokens;
      text.insert(at, comment);
      const std::string out = formatted(text);
      const std::size_t first = out.find("// kept");
      REQUIRE(first != std::string::npos);
      CHECK(out.find("// kept", first + 1) == std::string::npos);
    }
  }
}

TEST_CASE("format: hexadecimal numbers keep their spelling, decimals become canonical") {
  CHECK(formatted("program p workgroup(1) { readwrite b: u32[]; b[0] = 0xFFu32 ^ 0X1f + 007; }") ==
        "program p workgroup(1) {\n  readwrite b: u32[];\n  b[0] = 0xFFu32 ^ (0X1f + 7);\n}\n");
  CHECK(formatted("program p workgroup(1) { let x = - 0x10i32; let y = -0x10i32; }") ==
        "program p workgroup(1) {\n  let x = -0x10i32;\n  let y = -0x10i32;\n}\n");
  // Without the text there is no spelling to keep.
  CHECK(ir::print(test::parsed("program p workgroup(1) { let x = 0xFFu64; }")) ==
        "program p workgroup(1) {\n  let x = 255u64;\n}\n");
}

TEST_CASE("format: random programs with random comments keep all comments, twice the same") {
  const std::uint64_t seed = test::run_seed();
  test::Random random(seed);
  for (std::uint64_t round = 0; round < 150; ++round) {
    using test::ProgramGenerator;
    std::string text = ir::print(
        test::parsed(ProgramGenerator(seed + round, ProgramGenerator::Kind::Text).text()));
    std::size_t inserted = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
      if (text[at] != '\n' || !random.chance(4)) continue;
      const std::string_view forms[] = {"  // c", "\n// c", "\n\n  // c\n"};
      const std::string_view form = forms[random.below(3)];
      text.insert(at, form);
      at += form.size();
      ++inserted;
    }
    INFO("seed ", seed, ", round ", round);
    const std::string out = formatted(text);
    std::size_t kept = 0;
    for (std::size_t at = out.find("// c"); at != std::string::npos;
         at = out.find("// c", at + 1)) {
      ++kept;
    }
    CHECK(kept == inserted);
  }
}

}  // namespace
