// Programs, their names, their paths and the command line cannot reach the terminal.
#include <nlohmann/json.hpp>

#include "tool_runner.h"

using namespace felsite::test;

namespace {

// No control character but the ends of lines, no override of direction, no lone C1 byte.
void check_harmless(const Outcome& outcome) {
  for (const std::string& text : {outcome.out, outcome.err}) {
    CAPTURE(text);
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      CHECK((byte >= 0x20 || c == '\n'));
      CHECK(byte != 0x7F);
    }
    CHECK(!contains(text, "\u202e"));
    CHECK(!contains(text, "\u009b"));
    CHECK(!contains(text, "\xff"));
  }
}

const std::string kOdd = "a\x1b[2J\u202e\u009b\x7f\xff";
const std::string kShown = "a\\x1b[2J\\u{202e}\\u{9b}\\x7f\\xff";

}  // namespace

TEST_CASE("escapes: names of regions are escaped in every form of explain") {
  const std::string program =
      "program p workgroup(1) { readwrite x: u32[4]; region \"r\x1b[31m\u202e\" { x[0] = 1; } "
      "gridsync;"
      " region \"\u009bs\x7f\" { x[1] = x[0]; } }";
  const auto with = [&](Arguments more) {
    more.insert(more.begin(), {"explain", "-"});
    const NoDriver none;
    return run_tool(more, program);
  };
  const Outcome text = with({});
  CHECK(text.code == 0);
  check_harmless(text);
  CHECK(contains(text.out, "r\\x1b[31m\\u{202e}"));
  const Outcome page = with({"--html", "-"});
  CHECK(page.code == 0);
  check_harmless(page);
  CHECK(contains(page.out, "r\\x1b[31m\\u{202e}"));
  const Outcome body = with({"--json"});
  check_harmless(body);
  // The names themselves are what the program says.
  const auto segments = nlohmann::json::parse(body.out)["segments"];
  CHECK(segments[0]["label"] == "r\x1b[31m\u202e");
}

TEST_CASE("escapes: paths and words of the command line in messages") {
  const Scratch scratch;
  const std::string absent = scratch.path(kOdd);
  for (const char* command : {"check", "run", "explain", "trace", "spirv", "fmt"}) {
    const Outcome outcome = run_tool({command, absent});
    check_harmless(outcome);
    CHECK(contains(outcome.err, kShown));
  }
  for (const Arguments& arguments :
       {Arguments{kOdd}, Arguments{"--" + kOdd}, Arguments{"run", "--" + kOdd},
        Arguments{"run", "x", "y" + kOdd}, Arguments{"run", "x", "--grid", kOdd},
        Arguments{"run", "x", "--order", kOdd}, Arguments{"devices", "--mask", kOdd},
        Arguments{"completion", kOdd}}) {
    const Outcome outcome = run_tool(arguments);
    CHECK(outcome.code == kUsage);
    check_harmless(outcome);
    CHECK(contains(outcome.err, kShown));
  }
  const std::string saxpy = sample_named("saxpy").path;
  for (const Arguments& more :
       {Arguments{"-i", kOdd + "=1"}, Arguments{"-i", "a=" + kOdd}, Arguments{"-i", "a=@" + absent},
        Arguments{"-o", kOdd + "=hex"}, Arguments{"--backend", kOdd}}) {
    Arguments arguments{"run", saxpy};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_tool(arguments);
    CHECK(outcome.code != 0);
    check_harmless(outcome);
  }
}

TEST_CASE("escapes: the file, the line and the words of a finding") {
  const Scratch scratch;
  const std::string path = scratch.write(
      kOdd, "program p workgroup(1) { region \"\x1b]0;title\x07\u202e\" { } y[0] = 1; }");
  for (const char* command : {"check", "run", "explain", "trace", "spirv"}) {
    const Outcome outcome = run_tool({command, path});
    CHECK(outcome.code == kProgram);
    check_harmless(outcome);
    CHECK(contains(outcome.err, kShown + ":1:"));
    CHECK(contains(outcome.err, ": error: F008 unknown buffer: "));
    CHECK(contains(outcome.err, "\\x1b]0;title\\x07\\u{202e}"));
  }
  check_harmless(run_tool({"fmt", "--check", path}));
}

TEST_CASE("escapes: the names in an assembly") {
  const Scratch scratch;
  const std::string path = scratch.write(
      kOdd, "program p workgroup(1) { output o: u32[1]; region \"r\x1b[31m\" { o[0] = 7; } }");
  const Outcome outcome = run_tool({"spirv", path});
  CHECK(outcome.code == 0);
  check_harmless(outcome);
  CHECK(contains(outcome.out, kShown));
}

TEST_CASE("escapes: valid text of other scripts stays readable") {
  const Scratch scratch;
  CHECK(contains(run_tool({"check", scratch.path("größe-日本.fels")}).err, "größe-日本.fels"));
}
