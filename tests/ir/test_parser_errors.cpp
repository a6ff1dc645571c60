// What the parser says, word for word: line, column, message, fix, and the caret.
#include <doctest/doctest.h>

#include <string>

#include "support/fels_text.h"

namespace {

using namespace felsite;
using test::around;

// The first finding of a text that does not parse, as one line.
std::string error_of(std::string_view text) {
  const auto program = ir::parse(text);
  if (program) return "parses";
  CHECK(program.error().size() == 1);
  return ir::to_string(program.error().front());
}

// The same for statements; they start on line 3.
std::string statement_error(std::string_view statements) { return error_of(around(statements)); }

TEST_CASE("parse errors: the empty text") {
  CHECK(error_of("") ==
        "1:1: error: F001 syntax error: Expected `program`, found the end of the text. "
        "Fix: write `program` here.");
}

TEST_CASE("parse errors: a misspelt keyword gets a suggestion") {
  CHECK(
      error_of("progam p workgroup(1) { }") ==
      "1:1: error: F001 syntax error: Expected `program`, found `progam`. Did you mean `program`? "
      "Fix: write `program` here.");
  CHECK(error_of("program p workgrop(1) { }") ==
        "1:11: error: F001 syntax error: Expected `workgroup`, found `workgrop`. Did you mean "
        "`workgroup`? "
        "Fix: write `workgroup` here.");
  CHECK(
      statement_error("retrun;") ==
      "3:1: error: F001 syntax error: Expected a statement, found `retrun`. Did you mean `return`? "
      "Fix: write a statement here.");
}

TEST_CASE("parse errors: a name far from every word gets no suggestion") {
  CHECK(statement_error("qqqqqqqq;") ==
        "3:1: error: F001 syntax error: Expected a statement, found `qqqqqqqq`. "
        "Fix: write a statement here.");
}

TEST_CASE("parse errors: a missing semicolon is reported where it should stand") {
  CHECK(statement_error("b[0] = 1\nb[1] = 2;") ==
        "4:1: error: F001 syntax error: Expected `;` at the end of the statement, found `b`. "
        "Fix: write `;` at the end of the statement here.");
}

TEST_CASE("parse errors: unclosed brackets say what would close them") {
  CHECK(statement_error("b[0] = (1 + 2;") ==
        "3:14: error: F001 syntax error: Expected an operator or `)`, found `;`. "
        "Fix: write an operator or `)` here.");
  CHECK(statement_error("b[0 = 1;") ==
        "3:5: error: F001 syntax error: Expected `]` after the index, found `=`. "
        "Fix: write `]` after the index here.");
  CHECK(statement_error("b[0] = r[1;") ==
        "3:11: error: F001 syntax error: Expected an operator or `]`, found `;`. "
        "Fix: write an operator or `]` here.");
  CHECK(error_of("program p workgroup(1) { return;") ==
        "1:33: error: F001 syntax error: Expected a statement or `}`, found the end of the text. "
        "Fix: write a statement or `}` here.");
}

TEST_CASE("parse errors: a missing operand") {
  CHECK(statement_error("b[0] = 1 + ;") ==
        "3:12: error: F001 syntax error: Expected a value, found `;`. Fix: write a value here.");
  CHECK(statement_error("b[0] = ();") ==
        "3:9: error: F001 syntax error: Expected a value, found `)`. Fix: write a value here.");
  CHECK(statement_error("b[] = 1;") ==
        "3:3: error: F001 syntax error: Expected a value, found `]`. Fix: write a value here.");
  CHECK(
      statement_error("let x = return;") ==
      "3:9: error: F001 syntax error: Expected a value, found `return`. Fix: write a value here.");
}

TEST_CASE("parse errors: a reserved word as a name") {
  CHECK(statement_error("let if = 1;") ==
        "3:5: error: F005 not a usable name: `if` is a reserved word and cannot be the variable's "
        "name. "
        "Fix: choose another name.");
  CHECK(error_of("program u32 workgroup(1) { }") ==
        "1:9: error: F005 not a usable name: `u32` is a reserved word and cannot be the program's "
        "name. "
        "Fix: choose another name.");
  CHECK(statement_error("loop local in 0..4 { }") ==
        "3:6: error: F005 not a usable name: `local` is a reserved word and cannot be the loop "
        "variable's "
        "name. Fix: choose another name.");
  CHECK(statement_error("let bitcast = 1;") ==
        "3:5: error: F005 not a usable name: `bitcast` is a reserved word and cannot be the "
        "variable's "
        "name. Fix: choose another name.");
}

TEST_CASE("parse errors: keywords that start no statement are named alone") {
  CHECK(statement_error("else   { }") ==
        "3:1: error: F001 syntax error: Expected a statement, found `else`. "
        "Fix: write a statement or `}` here.");
  CHECK(statement_error("in // a comment\n 5;") ==
        "3:1: error: F001 syntax error: Expected a statement, found `in`. "
        "Fix: write a statement or `}` here.");
  CHECK(statement_error("true;") ==
        "3:1: error: F001 syntax error: Expected a statement, found `true`. "
        "Fix: write a statement or `}` here.");
}

TEST_CASE("parse errors: declarations come before statements, buffers before operations") {
  CHECK(statement_error("readonly late: u32[];") == "parses");
  CHECK(statement_error("return;\nreadonly late: u32[];") ==
        "4:1: error: F001 syntax error: Expected a statement: buffers and operations are declared "
        "before "
        "the first one, found `readonly`. Fix: write a statement: buffers and operations are "
        "declared before the first one here.");
  CHECK(error_of("program p workgroup(1) { op f() -> u32 { yield 1; }\nreadonly b: u32[]; }")
            .starts_with(
                "2:1: error: F001 syntax error: Expected an operation or a statement: buffers are "
                "declared before operations, found `readonly`."));
}

TEST_CASE("parse errors: axes, orderings and reductions are listed") {
  CHECK(statement_error("b[0] = invocation.w;") ==
        "3:19: error: F001 syntax error: Expected an axis: `x`, `y` or `z`, found `w`. "
        "Fix: write an axis: `x`, `y` or `z` here.");
  CHECK(statement_error("b[0] = local;") ==
        "3:13: error: F001 syntax error: Expected `.` and an axis after `local`, found `;`. "
        "Fix: write `.` and an axis after `local` here.");
  CHECK(statement_error("barrier.strong;")
            .starts_with(
                "3:9: error: F001 syntax error: Expected an ordering: acquire, release, acq_rel "
                "or seq_cst, found "
                "`strong`."));
  CHECK(statement_error("all_reduce(b);")
            .starts_with("3:11: error: F001 syntax error: Expected `.` and an operation, as in "
                         "`all_reduce.add(…)`, found `(`."));
  CHECK(statement_error("all_reduce.avg(b);")
            .starts_with(
                "3:12: error: F001 syntax error: Expected an operation: add, mul, min, max, and, "
                "or, xor, found `avg`."));
}

TEST_CASE("parse errors: a string is no type, ordering or reduction, whatever it says") {
  CHECK(statement_error("b[0] = bitcast<\"u32\">(1);")
            .starts_with("3:16: error: F001 syntax error: Expected a type, found `u32`."));
  CHECK(statement_error("barrier.\"acquire\";")
            .starts_with("3:9: error: F001 syntax error: Expected an ordering: "));
  CHECK(statement_error("atomic_add.\"acquire\"(b[0], 1);")
            .starts_with("3:12: error: F001 syntax error: Expected an ordering: "));
  CHECK(statement_error("all_reduce.\"add\"(b);")
            .starts_with("3:12: error: F001 syntax error: Expected an operation: "));
}

TEST_CASE("parse errors: the number of arguments of a built-in function") {
  CHECK(statement_error("b[0] = min(1);") ==
        "3:8: error: F027 wrong number of arguments: `min` takes 2 arguments, 1 given. "
        "Fix: give `min` 2 arguments.");
  CHECK(statement_error("b[0] = popcount(1, 2);") ==
        "3:8: error: F027 wrong number of arguments: `popcount` takes 1 argument, 2 given. "
        "Fix: give `popcount` 1 argument.");
  CHECK(statement_error("b[0] = atomic_add(b[0], 1, 2);") ==
        "3:8: error: F027 wrong number of arguments: `atomic_add` takes 2 arguments, 3 given. "
        "Fix: give `atomic_add` 2 arguments.");
  CHECK(statement_error("b[0] = u32(1, 2);") ==
        "3:8: error: F027 wrong number of arguments: `u32` takes 1 argument, 2 given. "
        "Fix: give `u32` 1 argument.");
  CHECK(statement_error("b[0] = select(true, 1);") ==
        "3:8: error: F027 wrong number of arguments: `select` takes 3 arguments, 2 given. "
        "Fix: give `select` 3 arguments.");
  CHECK(
      statement_error("b[0] = subgroup_shuffle(1);") ==
      "3:8: error: F027 wrong number of arguments: `subgroup_shuffle` takes 2 arguments, 1 given. "
      "Fix: give `subgroup_shuffle` 2 arguments.");
}

TEST_CASE("parse errors: numbers") {
  CHECK(statement_error("b[0] = 4294967296;") ==
        "3:8: error: F003 literal out of range: `4294967296` does not fit u32. Fix: use a smaller "
        "number or "
        "a wider type suffix; a negative integer needs a signed suffix, such as -1i32.");
  CHECK(statement_error("b[0] = -1;")
            .starts_with("3:8: error: F003 literal out of range: `-1` does not fit u32."));
  CHECK(statement_error("b[0] = 12abc;") ==
        "3:8: error: F001 syntax error: `12abc` is not a number. Fix: write digits with an "
        "optional type "
        "suffix, such as 7, 7i32, 0xFFu64, 1.5 or 1e-3f16.");
  CHECK(error_of("program p workgroup(5000000000) { }") ==
        "1:21: error: F003 literal out of range: `5000000000` is not a number of invocations from "
        "0 to "
        "4294967295. Fix: write a plain number of at most 32 bits.");
  CHECK(error_of("program p workgroup(1.5) { }")
            .starts_with(
                "1:21: error: F001 syntax error: Expected a number of invocations, found `1.5`."));
}

TEST_CASE("parse errors: strings and stray characters") {
  CHECK(statement_error("region \"open { }") ==
        "3:8: error: F001 syntax error: Expected the region's name in quotes, found a string that "
        "does not "
        "end. Fix: write the region's name in quotes here.");
  CHECK(statement_error("region name { }")
            .starts_with("3:8: error: F001 syntax error: Expected the region's name in quotes, "
                         "found `name`."));
  CHECK(statement_error("b[0] = 1 @ 2;")
            .starts_with(
                "3:10: error: F001 syntax error: Expected `;` at the end of the statement, found "
                "a character that has "
                "no meaning here."));
  CHECK(statement_error("b[0] = \"text\";") ==
        "3:8: error: F001 syntax error: Expected a value, found `text`. Fix: write a value here.");
}

TEST_CASE("parse errors: a long string is cut between characters, not within one") {
  std::string text = "b[0] = \"x";
  for (int i = 0; i < 60; ++i) text += "é";
  const std::string message = statement_error(text + "\";");
  std::string shown = "x";
  for (int i = 0; i < 19; ++i) shown += "é";
  CHECK(message == fmt::format("3:8: error: F001 syntax error: Expected a value, found `{}`. "
                               "Fix: write a value here.",
                               shown));
}

TEST_CASE("parse errors: text after the program") {
  CHECK(error_of("program p workgroup(1) { return; } }") ==
        "1:36: error: F001 syntax error: Expected the end of the text, found `}`. "
        "Fix: write the end of the text here.");
}

TEST_CASE("parse errors: operations") {
  const auto op = [](std::string_view text) {
    return error_of(fmt::format("program p workgroup(1) {{\n{} return; }}", text));
  };
  CHECK(op("op f(x) -> u32 { yield x; }")
            .starts_with(
                "2:7: error: F001 syntax error: Expected `:` and a type after the parameter's "
                "name, found `)`."));
  CHECK(op("op f(x: u32) { yield x; }")
            .starts_with("2:14: error: F001 syntax error: Expected `->` and the type of the "
                         "result, found `{`."));
  CHECK(op("op f() -> u32 { }")
            .starts_with("2:17: error: F001 syntax error: Expected `yield`, found `}`."));
  CHECK(op("op f() -> u32 { if true { yield 1; } yield 2; }")
            .starts_with("2:27: error: F001 syntax error: Expected a statement, found `yield`."));
  CHECK(op("op f() -> u33 { yield 1; }")
            .starts_with(
                "2:11: error: F001 syntax error: Expected the type of the result, found `u33`. "
                "Did you mean `u32`?"));
}

TEST_CASE("parse errors: bytes that are no text") {
  CHECK(error_of("program p\xFF workgroup(1) { }") ==
        "1:10: error: F002 not valid text: Byte 0xff is not valid UTF-8 text. "
        "Fix: save the file as UTF-8 text without NUL bytes.");
  using namespace std::string_view_literals;
  CHECK(error_of("program\0 p workgroup(1) { }"sv)
            .starts_with("1:8: error: F002 not valid text: Byte 0x00 is not valid UTF-8 text."));
}

TEST_CASE("render: the line with a caret under the column") {
  const std::string text = "program p workgroup(1) {\n  b[0] = 1 +;\n}\n";
  const auto program = ir::parse(text);
  REQUIRE_FALSE(program.has_value());
  CHECK(ir::render(program.error().front(), text) ==
        "2:13: error: F001 syntax error: Expected a value, found `;`. Fix: write a value here.\n"
        "      2 |   b[0] = 1 +;\n"
        "        |             ^");
}

TEST_CASE("render: a tab is a blank, and characters beyond ASCII stay") {
  const std::string text = "program p workgroup(1) {\n\tb[0] = \"é\";\n}";
  const auto program = ir::parse(text);
  REQUIRE_FALSE(program.has_value());
  CHECK(ir::render(program.error().front(), text)
            .ends_with("\n      2 |  b[0] = \"é\";\n        |         ^"));
}

TEST_CASE("render: the caret stands below its character behind others of several bytes") {
  const std::string text = "program p workgroup(1) { region \"ä€\" { } ? }";
  const auto program = ir::parse(text);
  REQUIRE_FALSE(program.has_value());
  CHECK(ir::render(program.error().front(), text)
            .ends_with("\n      1 | program p workgroup(1) { region \"ä€\" { } ? }\n        |" +
                       std::string(42, ' ') + "^"));
}

TEST_CASE("render: a line's control characters and marks of direction are escaped") {
  const std::string text = "program p workgroup(1) { // \x1b[31m\u202e\x9b\n ? }";
  ir::Finding finding{.line = 1, .column = 26, .path = {}, .message = "m.", .fix = "f."};
  CHECK(
      ir::render(finding, text)
          .ends_with("\n      1 | program p workgroup(1) { // \\x1b[31m\\u{202e}\\x9b\n        |" +
                     std::string(26, ' ') + "^"));
  CHECK(ir::render(finding, "one line\r\nand two\r\n").find("\\x0d") == std::string::npos);
  finding.message = "The name `\x1b]0;x\x07` is odd.";
  CHECK(ir::to_string(finding) ==
        "1:26: error: F001 syntax error: The name `\\x1b]0;x\\x07` is odd. Fix: f.");
}

TEST_CASE("findings: to_string of all that parse gives is a line for each") {
  const auto program = ir::parse("program p workgroup(1) { let }");
  REQUIRE_FALSE(program.has_value());
  CHECK(to_string(program.error()) == to_string(program.error().front()));
  const ir::Findings two{program.error().front(), program.error().front()};
  const std::string one = to_string(two.front());
  CHECK(to_string(two) == one + "\n" + one);
  CHECK(to_string(ir::Findings()).empty());
}

TEST_CASE("render: of a very long line the part around the column is shown") {
  const std::string text =
      "program p workgroup(1) { b[0] = " + std::string(5000, '(') + "; }" + std::string(5000, ' ');
  const auto program = ir::parse(text);
  REQUIRE_FALSE(program.has_value());
  const std::string shown = ir::render(program.error().front(), text);
  CHECK(shown.size() < 400);
  const std::size_t caret = shown.rfind('^');
  const std::size_t line = shown.find("\n      1 | ") + 1;
  const std::size_t caret_line = shown.rfind('\n') + 1;
  CHECK(shown[line + (caret - caret_line)] == ';');
}

TEST_CASE("render: at the end of the text the caret stands one past the last character") {
  const auto program = ir::parse("program p");
  REQUIRE_FALSE(program.has_value());
  CHECK(ir::render(program.error().front(), "program p") ==
        "1:10: error: F001 syntax error: Expected `workgroup`, found the end of the text. "
        "Fix: write `workgroup` here.\n      1 | program p\n        |          ^");
}

TEST_CASE("to_error: the first three findings and the number of the others") {
  const ir::Findings findings = test::findings_of(around("x = 1;\ny = 1;\nz = 1;\nu = 1;\nv = 1;"));
  REQUIRE(findings.size() == 5);
  const Error error = ir::to_error(findings, "p");
  CHECK(error.code == ErrorCode::InvalidProgram);
  CHECK(error.context.program == "p");
  CHECK(error.message ==
        "3:1: F009 No variable `x` is visible here. 4:1: F009 No variable `y` is visible here. "
        "5:1: F009 No variable `z` is visible here. And 2 more findings.");
  CHECK(error.fix == "declare it with `let` in this scope or an outer one.");
}

}  // namespace
