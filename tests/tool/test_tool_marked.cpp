// run --marked, and options of run that do not go together.
#include "tool_runner.h"

using namespace felsite::test;

namespace {

constexpr std::string_view kMarked = R"(// Adds.
//! run: --input a=1,2 --input b=bits:3f800000,40000000 --output sum=hex --grid 1
//! run: --input a=9,9
program add workgroup(2) {
  readonly a: f32[2];
  readonly b: f32[2];
  output sum: f32[2];
  output count: u32[1];
  sum[local.x] = a[local.x] + b[local.x];
  count[0] = num_workgroups.x;
}
)";

}  // namespace

TEST_CASE("--marked takes the options of the program's first run line") {
  const Outcome outcome = run_tool({"run", "-", "--marked"}, kMarked);
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "sum = 40000000 40800000\n");
  for (const Sample& sample : all_samples()) {
    check_expected(sample, run_tool({"run", sample.path, "--marked"}));
  }
}

TEST_CASE("options on the command line win over marked ones, or are added") {
  const auto run = [](Arguments more) {
    more.insert(more.begin(), {"run", "-", "--marked"});
    const Outcome outcome = run_tool(more, kMarked);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  CHECK(run({"-i", "a=0,0"}) == "sum = 3f800000 40000000\n");
  CHECK(run({"--output", "sum=numbers"}) == "sum = 2 4\n");
  CHECK(run({"--output", "count=numbers"}) == "sum = 40000000 40800000\ncount = 1\n");
  CHECK(run({"--output", "count=numbers", "--grid", "3"}) ==
        "sum = 40000000 40800000\ncount = 3\n");
  CHECK(run({"--order", "reversed"}) == "sum = 40000000 40800000\n");
}

TEST_CASE("a program without a run line, or with a wrong one, is at fault") {
  constexpr std::string_view kEnd = "program p workgroup(1) { output o: u32[1]; o[0] = 7; }";
  const auto run = [&](const std::string& head) {
    return run_tool({"run", "-", "--marked"}, head + std::string(kEnd));
  };
  CHECK(run("  //! run:\n").out == "o = 7\n");
  check_refused(run(""), kProgram, "`-` has no line `//! run:`");
  check_refused(run("// //! run: --grid 1\n"), kProgram, "has no line");
  check_refused(run("//! run: --frobnicate\n"), kProgram, "--frobnicate");
  check_refused(run("//! run: --help\n"), kProgram, "--help");
  check_refused(run("//! run: other.fels\n"), kProgram, "other.fels");
  check_refused(run("//! run: --grid x\n"), kProgram, "--grid");
  check_refused(run("//! run: --grid 1 --grid 2\n"), kProgram, "--grid");
  check_refused(run("//! run: --mask none\n"), kUsage, "--mask is for --backend vulkan");
}

TEST_CASE("a program's own line cannot have files read or written") {
  const Scratch scratch;
  const std::string secret = scratch.write("secret", std::string("\1\2\3\4", 4));
  const auto run = [&](const std::string& line, Arguments more = {}) {
    more.insert(more.begin(), {"run", "-", "--marked"});
    return run_tool(more, "//! run: " + line +
                              "\nprogram p workgroup(1) { readwrite x: u32[1]; x[0] = x[0] + 1; }");
  };
  const std::string target = scratch.path("target");
  for (const std::string& line :
       {"-i x=@" + secret, "--input=x=@" + secret, std::string("-i x=@-"), "-i x=0 -o x=@" + target,
        "-i x=0 --output x=@" + target, std::string("-i x=0 -o x=@-")}) {
    CAPTURE(line);
    check_refused(run(line), kProgram, "names a file");
    // Not even where the command line's own wins.
    check_refused(run(line, {"-i", "x=5", "-o", "x=numbers"}), kProgram, "names a file");
    check_refused(run_tool({"explain", "-", "--marked", "--backend", "reference"},
                           "//! run: " + line +
                               "\nprogram p workgroup(1) { readwrite x: u32[1]; x[0] = 1; }"),
                  kProgram, "names a file");
  }
  CHECK(!std::filesystem::exists(target));
  // On the command line files are the user's.
  CHECK(run("-i x=7", {"-o", "x=@" + target}).code == 0);
  CHECK(scratch.read("target") == std::string("\10\0\0\0", 4));
}

TEST_CASE("--grid and --invocations on the command line each win over a marked one") {
  const auto run = [](const std::string& line, Arguments more) {
    more.insert(more.begin(), {"run", "-", "--marked"});
    return run_tool(
        more,
        "//! run: " + line + "\nprogram p workgroup(4) { output n: u32[1]; atomic_add(n[0], 1); }");
  };
  CHECK(run("--grid 3", {}).out == "n = 12\n");
  CHECK(run("--grid 3", {"--invocations", "5"}).out == "n = 8\n");
  CHECK(run("--invocations 3", {"--grid", "5"}).out == "n = 20\n");
  CHECK(run("--invocations 13", {}).out == "n = 16\n");
  check_refused(run("--invocations 13 --grid 1", {}), kProgram, "--grid and --invocations");
}

TEST_CASE("options of one backend are refused with the other") {
  const auto run = [](const Arguments& more) { return run_sample(sample_named("saxpy"), more); };
  check_refused(run({"--mask", "none"}), kUsage, "--mask is for --backend vulkan");
  check_refused(run({"--check"}), kUsage, "--check is for --backend vulkan");
  check_refused(run({"--backend", "vulkan", "--mask", "bogus"}), kUsage, "`bogus`");
  check_refused(run({"--backend", "vulkan", "--mask", "device"}), kUsage, "`device`");
  check_refused(run({"--backend", "vulkan", "--subgroup-width", "8"}), kUsage, "--subgroup-width");
  for (const Arguments& more : {Arguments{"--order", "reversed"}, Arguments{"--seed", "1"},
                                Arguments{"--count-out-of-bounds"}}) {
    Arguments all{"--backend", "vulkan"};
    all.insert(all.end(), more.begin(), more.end());
    check_refused(run(all), kUsage, more[0]);
  }
}
