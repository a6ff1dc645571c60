// How large the grid is, several files at once, and fixpoints that do not converge.
#include <nlohmann/json.hpp>

#include "tool_runner.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

constexpr std::string_view kCount =
    "program count workgroup(4, 2) { output n: u32[1]; atomic_add(n[0], 1); }";
constexpr std::string_view kClimb =
    "program climb workgroup(1) { readwrite x: u32[1]; if x[0] < 5 { x[0] = x[0] + 1; } }";

Outcome run_count(Arguments more) {
  more.insert(more.begin(), {"run", "-"});
  return run_tool(more, kCount);
}

Outcome climb(Arguments more) {
  more.insert(more.begin(), {"run", "-", "-i", "x=0"});
  return run_tool(more, kClimb);
}

}  // namespace

TEST_CASE("--invocations gives the smallest grid that covers them") {
  CHECK(run_count({"--invocations", "1"}).out == "n = 8\n");
  CHECK(run_count({"--invocations", "4,2"}).out == "n = 8\n");
  CHECK(run_count({"--invocations", "5,2"}).out == "n = 16\n");
  CHECK(run_count({"--invocations", "8,3,2"}).out == "n = 64\n");
  CHECK(run_count({"--invocations", "9,2", "--workgroup", "3,1"}).out == "n = 18\n");
  const Outcome explained = run_tool(
      {"explain", "-", "--json", "--backend", "reference", "--invocations", "9,3"}, kCount);
  CHECK(json::parse(explained.out)["grid"] == json{3, 2, 1});
}

TEST_CASE("--invocations and --grid together, and numbers that are none, are usage errors") {
  check_refused(run_count({"--invocations", "1", "--grid", "1"}), kUsage,
                "--grid and --invocations");
  check_refused(
      run_tool({"explain", "-", "--invocations", "1", "--grid", "1", "--backend", "reference"},
               kCount),
      kUsage, "--grid and --invocations");
  for (const char* text : {"x", "", "1,2,3,4", "4294967296", "-1"}) {
    check_refused(run_count({"--invocations", text}), kUsage, "--invocations");
  }
  check_refused(run_count({"--invocations", "1", "--workgroup", "0"}), kUsage, "--workgroup");
  check_refused(
      run_tool({"run", sample_named("rgb_to_grey").path, "--marked", "--invocations", "9"}),
      kProgram, "its grid");
}

TEST_CASE("a grid of nothing is refused") {
  for (const char* text : {"0", "1,0", "1,1,0", "0,0,0"}) {
    check_refused(run_count({"--grid", text}), kUsage, "would run nothing");
    check_refused(run_count({"--invocations", text}), kUsage, "would run nothing");
    check_refused(run_tool({"explain", "-", "--grid", text}, kCount), kUsage, "would run nothing");
  }
  CHECK(run_count({"--grid", "1,1,1"}).code == 0);
}

TEST_CASE("a fixpoint that does not converge is exit code 1 where convergence is required") {
  CHECK(climb({"--fixpoint", "6", "--require-convergence"}).out == "x = 5\n");
  CHECK(climb({"--fixpoint", "5"}).code == 0);
  check_refused(climb({"--fixpoint", "5", "--require-convergence"}), kProgram,
                "The fixpoint did not converge in 5 iterations.");
  const Outcome body = climb({"--fixpoint", "5", "--require-convergence", "--json"});
  CHECK(body.code == kProgram);
  CHECK(json::parse(body.out)["error"]["name"] == "DispatchFailed");
  // Nothing is written of a run that counts as failed.
  const Scratch scratch;
  climb({"--fixpoint", "5", "--require-convergence", "-o", "x=@" + scratch.path("x")});
  CHECK(!std::filesystem::exists(scratch.path("x")));
  check_refused(
      run_tool({"trace", "-", "-i", "x=0", "--fixpoint", "5", "--require-convergence"}, kClimb),
      kProgram, "did not converge");
}

TEST_CASE("--require-convergence needs a fixpoint that can converge") {
  check_refused(climb({"--require-convergence"}), kUsage,
                "--require-convergence is for --fixpoint");
  check_refused(climb({"--fixpoint", "9", "--convergence", "none", "--require-convergence"}),
                kUsage, "--convergence none never converges");
}

TEST_CASE("check and fmt take several files, and standard input among them") {
  const Scratch scratch;
  const std::string good = sample_named("saxpy").path;
  const std::string bad = scratch.write("bad.fels", "program p workgroup(1) { y[0] = 1; }");
  const Outcome checked = run_tool({"check", good, bad, "-"}, kCount);
  CHECK(checked.code == kProgram);
  CHECK(contains(checked.out, "saxpy: ok, "));
  CHECK(contains(checked.out, "count: ok, "));
  CHECK(contains(checked.err, bad + ":1:26: error: F008 unknown buffer"));
  CHECK(run_tool({"check", good, good}).code == 0);
  check_refused(run_tool({"check", "-", good, "-"}, kCount), kUsage, "once");

  const json rows =
      json::parse(run_tool({"check", "--json", good, bad, scratch.path("absent")}).out);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["program"] == "saxpy");
  CHECK(rows[1]["findings"][0]["code"] == "F008");
  CHECK(rows[2]["error"]["name"] == "BadInputs");

  const std::string odd =
      scratch.write("odd.fels", "program p workgroup(1){output o:u32[1];o[0]=7;}");
  const Outcome looked = run_tool({"fmt", "--check", good, odd});
  CHECK(looked.code == kProgram);
  CHECK(looked.out == odd + " is not formatted\n");
  CHECK(run_tool({"fmt", good, odd}).out ==
        read_whole(good) + "program p workgroup(1) {\n  output o: u32[1];\n  o[0] = 7;\n}\n");
  CHECK(run_tool({"fmt", "-w", good, odd}).code == 0);
  CHECK(run_tool({"fmt", "--check", good, odd}).code == 0);
  // One that cannot be read does not keep the others from being checked.
  const Outcome absent = run_tool({"fmt", scratch.path("absent"), odd});
  CHECK(absent.code == kProgram);
  CHECK(contains(absent.out, "program p workgroup(1) {"));
}

TEST_CASE("a workgroup size along an axis that the program ignores needs a grid") {
  const auto with = [](Arguments more) {
    more.insert(more.begin(), {"run", "-", "-i", "x=zeros:5"});
    return run_tool(more, "program p workgroup(64) { readwrite x: u32[]; x[invocation.x] = 1; }");
  };
  check_refused(with({"--workgroup", "1,1,64"}), kProgram,
                "A workgroup of (1, 1, 64) extends along z");
  CHECK(with({"--workgroup", "1,1,64", "--grid", "2"}).out == "x = 1 1 0 0 0\n");
  CHECK(with({"--workgroup", "2"}).out == "x = 1 1 1 1 1\n");
}

TEST_CASE("--convergence is for --fixpoint, and never clears a flag without it") {
  constexpr std::string_view kFlag =
      "//! run: -i y=0 -i flag=5 --convergence flag:flag\n"
      "program p workgroup(1) { readwrite y: u32[1]; readwrite flag: u32[1]; y[0] = flag[0]; }";
  for (const char* command : {"run", "explain", "trace"}) {
    for (const char* how : {"flag:flag", "none", "auto"}) {
      check_refused(run_tool({command, "-", "-i", "y=0", "-i", "flag=5", "--convergence", how,
                              "--backend", "reference"},
                             kFlag),
                    kUsage, "--convergence is for --fixpoint");
    }
    check_refused(run_tool({command, "-", "--marked", "--backend", "reference"}, kFlag), kUsage,
                  "--convergence is for --fixpoint");
  }
  CHECK(run_tool({"run", "-", "--marked", "--fixpoint", "1"}, kFlag).out == "y = 0\nflag = 0\n");
  CHECK(run_tool({"run", "-", "-i", "y=0", "-i", "flag=5"}, kFlag).out == "y = 5\nflag = 5\n");
}
