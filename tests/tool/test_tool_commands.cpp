// check, fmt, help, and the options of run that are not inputs or outputs.
#include <nlohmann/json.hpp>

#include "document_examples.h"
#include "felsite/environment.h"
#include "tool_runner.h"

using namespace felsite::test;

namespace {

constexpr std::string_view kUnformatted = "program p workgroup(1){output x:u32[1];x[0]=1;// one\n}";
constexpr std::string_view kFormatted =
    "program p workgroup(1) {\n  output x: u32[1];\n  x[0] = 1;  // one\n}\n";

}  // namespace

TEST_CASE("help and version") {
  for (const Arguments& arguments : {Arguments{"--help"}, Arguments{"-h"}}) {
    const Outcome outcome = run_tool(arguments);
    CHECK(outcome.code == 0);
    for (const char* word : {"devices", "check", "run", "explain", "trace", "spirv", "fmt", "bench",
                             "completion", "man"}) {
      CHECK(contains(outcome.out, word));
    }
  }
  CHECK(contains(run_tool({"--help"}).out, "Exit codes: 0 ok"));
  CHECK(run_tool({"--version"}).out.starts_with("felsite "));
}

TEST_CASE("help lists the environment") {
  const std::string help = run_tool({"--help"}).out;
  for (const felsite::EnvironmentVariable& variable : felsite::environment_variables()) {
    CHECK(contains(help, std::string(variable.name) + "=" + std::string(variable.takes) + "\n"));
    CHECK(contains(help, variable.about));
  }
}

TEST_CASE("every option in the help stands in docs/tool.md") {
  const std::string manual = read_whole(FELSITE_SOURCE_DIR "/docs/tool.md");
  for (const char* command :
       {"devices", "check", "run", "explain", "trace", "spirv", "fmt", "bench"}) {
    const std::string help = run_tool({command, "--help"}).out;
    for (std::size_t at = help.find("--"); at != std::string::npos; at = help.find("--", at + 2)) {
      const std::string option = help.substr(at, help.find_first_of(" =,.)`;:\n", at) - at);
      CAPTURE(option);
      CHECK(contains(manual, option));
    }
  }
}

TEST_CASE("the examples in the documents give what they show") {
  int examples = 0;
  for (const char* document : {"/README.md", "/docs/tool.md"}) {
    const Scratch scratch;
    for (const Example& example : examples_in(document, scratch)) {
      CAPTURE(example.line);
      // The runner names the backend, so that nothing is to be said about it.
      CHECK(as_shown(run_tool(example.arguments)) == without_notes(example.shown));
      ++examples;
    }
  }
  CHECK(examples >= 8);
}

TEST_CASE("check describes a valid program") {
  const std::string path = sample_named("saxpy").path;
  const Outcome text = run_tool({"check", path});
  const auto body = nlohmann::json::parse(run_tool({"check", path, "--json"}).out);
  CHECK(body["program"] == "saxpy");
  CHECK(body["file"] == path);
  CHECK(body["findings"].empty());
  CHECK(body["nodes"] == 3);
  CHECK(body["fingerprint"].get<std::string>().size() == 32);
  CHECK(contains(text.out, body["fingerprint"].get<std::string>()));
}

TEST_CASE("check reads standard input, and the fingerprint is that of the file") {
  const Sample sample = sample_named("saxpy");
  CHECK(run_tool({"check", "-"}, sample.text).out == run_tool({"check", sample.path}).out);
}

TEST_CASE("check lists every finding with its place and a fix") {
  const Outcome outcome = run_tool({"check", "-"},
                                   "program p workgroup(1) {\n"
                                   "  readonly x: u32[4];\n"
                                   "  x[0] = 1;\n"
                                   "  y[0] = 1;\n"
                                   "}\n");
  CHECK(outcome.code == 1);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, "standard input:3:3: error: F015 access not allowed: "));
  CHECK(contains(outcome.err, "standard input:4:3: error: F008 unknown buffer: "));
  CHECK(contains(outcome.err, "3 |   x[0] = 1;\n"));
  CHECK(contains(outcome.err, " Fix: "));
  // run says the same, and runs nothing.
  const Outcome ran = run_tool({"run", "-"}, "program p workgroup(1) { y[0] = 1; }");
  CHECK(ran.code == 1);
  CHECK(ran.out.empty());
  CHECK(contains(ran.err, "F008 unknown buffer"));
}

TEST_CASE("fmt prints, checks and rewrites") {
  const Scratch scratch;
  const std::string path = scratch.write("p.fels", kUnformatted);
  CHECK(run_tool({"fmt", path}).out == kFormatted);
  CHECK(run_tool({"fmt", "-"}, kUnformatted).out == kFormatted);

  const Outcome checked = run_tool({"fmt", "--check", path});
  CHECK(checked.code == 1);
  CHECK(contains(checked.out, "is not formatted"));
  CHECK(scratch.read("p.fels") == kUnformatted);

  const Outcome written = run_tool({"fmt", "-w", path});
  CHECK(written.code == 0);
  CHECK(written.out.empty());
  CHECK(scratch.read("p.fels") == kFormatted);
  CHECK(run_tool({"fmt", "--check", path}).code == 0);
}

TEST_CASE("fmt leaves a file that does not parse as it is") {
  const Scratch scratch;
  const std::string path = scratch.write("p.fels", "program p workgroup(1) { let }");
  const Outcome outcome = run_tool({"fmt", "--write", path});
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, path + ":1:30: error: F001 syntax error"));
  CHECK(scratch.read("p.fels") == "program p workgroup(1) { let }");
}

TEST_CASE("the grid is for the largest storage buffer, which one line says, or given") {
  constexpr std::string_view kSum =
      "program sum workgroup(64) { readonly x: u32[]; output total: u32[1];"
      " atomic_add(total[0], x[invocation.x]); }";
  const Outcome sum = run_tool({"run", "-", "-i", "x=iota:1000"}, kSum);
  CHECK(sum.out == "total = 499500\n");
  CHECK(sum.err == "grid: 16 workgroups of 64, for the 1000 elements of `x`\n");
  const auto body =
      nlohmann::json::parse(run_tool({"run", "-", "-i", "x=iota:1000", "--json"}, kSum).out);
  CHECK(body["grid"] == nlohmann::json{16, 1, 1});
  CHECK(body["grid_reason"] == "for the 1000 elements of `x`");
  const auto given = nlohmann::json::parse(
      run_tool({"run", "-", "-i", "x=iota:1000", "--grid", "2", "--json"}, kSum).out);
  CHECK(given["grid"] == nlohmann::json{2, 1, 1});
  CHECK(given["grid_reason"] == "as given");
  // 37 by 23 pixels: only the caller knows that they are not a square.
  constexpr std::string_view kImage =
      "program image workgroup(8, 8) { output o: u32[851]; atomic_add(o[0], 1); }";
  check_refused(run_tool({"run", "-"}, kImage), kProgram, "pass a grid");
  check_refused(run_tool({"explain", "-"}, kImage), kProgram, "pass a grid");
  CHECK(
      run_tool({"run", "-", "--grid", "5,3", "--limit", "1"}, kImage).out.starts_with("o = 960 "));
  constexpr std::string_view kCount =
      "program count workgroup(4) { output n: u32[9]; atomic_add(n[0], 1); }";
  CHECK(run_tool({"run", "-"}, kCount).out == "n = 12 0 0 0 0 0 0 0 0\n");
  CHECK(run_tool({"run", "-", "--grid", "1"}, kCount).out == "n = 4 0 0 0 0 0 0 0 0\n");
  CHECK(run_tool({"run", "-", "--grid", "2,3"}, kCount).out == "n = 24 0 0 0 0 0 0 0 0\n");
  CHECK(run_tool({"run", "-", "--grid", "2,3,2"}, kCount).out == "n = 48 0 0 0 0 0 0 0 0\n");
  CHECK(run_tool({"run", "-", "--grid", "1", "--workgroup", "2,5"}, kCount).out ==
        "n = 10 0 0 0 0 0 0 0 0\n");
}

TEST_CASE("--order shows a program whose result depends on it") {
  constexpr std::string_view kLast =
      "program last workgroup(1) { output n: u32[1]; n[0] = invocation.x + 1; }";
  CHECK(run_tool({"run", "-", "--grid", "9"}, kLast).out == "n = 9\n");
  CHECK(run_tool({"run", "-", "--grid", "9", "--order", "reversed"}, kLast).out == "n = 1\n");
}

TEST_CASE("--subgroup-width sets the lanes") {
  constexpr std::string_view kWidth =
      "program width workgroup(64) { output n: u32[1]; n[0] = subgroup_size; }";
  CHECK(run_tool({"run", "-"}, kWidth).out == "n = 32\n");
  CHECK(run_tool({"run", "-", "--subgroup-width", "16"}, kWidth).out == "n = 16\n");
}

TEST_CASE("--count-out-of-bounds counts each kind") {
  const Outcome outcome = run_tool({"run", "-", "--count-out-of-bounds"},
                                   "program past workgroup(1) { output n: u32[1];"
                                   " let far = len(n) + 7; n[far] = n[far + 1] + n[far];"
                                   " atomic_add(n[far], 1); }");
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "n = 0\n");
  CHECK(outcome.err ==
        "out of bounds: 2 loads, 1 store, 1 atomic\n"
        "grid: 1 workgroup of 1, for the 1 element of `n`\n");
}

TEST_CASE("a fixpoint ends when nothing changes, when the flag stays clear, or at its bound") {
  constexpr std::string_view kClimb =
      "program climb workgroup(1) { readwrite x: u32[1]; output changed: u32[1];"
      " if x[0] < 5 { x[0] = x[0] + 1; changed[0] = 1; } }";
  const Arguments run{"run", "-", "-i", "x=0", "-o", "x=numbers"};
  const auto with = [&](Arguments more) {
    Arguments all = run;
    all.insert(all.end(), more.begin(), more.end());
    return run_tool(all, kClimb);
  };
  const std::string grid = "grid: 1 workgroup of 1, for the 1 element of `x`\n";
  const Outcome flagged = with({"--fixpoint", "20", "--convergence", "flag:changed"});
  CHECK(flagged.out == "x = 5\n");
  CHECK(flagged.err == grid + "6 iterations, converged\n");
  const Outcome compared = with({"--fixpoint", "20"});
  CHECK(compared.out == "x = 5\n");
  CHECK(compared.err == grid + "6 iterations, converged\n");
  const Outcome bound = with({"--fixpoint", "3"});
  CHECK(bound.out == "x = 3\n");
  CHECK(bound.err == grid + "3 iterations, not converged\n");
  CHECK(with({"--fixpoint", "20", "--convergence", "none"}).err ==
        grid + "20 iterations, not converged\n");
  CHECK(with({"--fixpoint", "1"}).err == grid + "1 iteration, not converged\n");
}
