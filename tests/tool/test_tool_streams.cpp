// Standard streams that cannot be written or are closed: an exit code and a sentence, never a
// signal.
#include <nlohmann/json.hpp>

#include "tool_runner.h"

using namespace felsite::test;

namespace {

constexpr std::string_view kProgramText = "program p workgroup(1) { output o: u32[1]; o[0] = 7; }";

// The tool as a shell starts it, with `redirected` behind its arguments.
Outcome in_shell(const std::string& arguments, const std::string& redirected,
                 const std::string& before = {}) {
  return run_binary("/bin/sh",
                    {"-c", before + "exec " FELSITE_TOOL " " + arguments + " " + redirected});
}

}  // namespace

TEST_CASE("a standard error that cannot be written changes no exit code") {
  const Scratch scratch;
  const std::string program = scratch.write("p.fels", kProgramText);
  const std::string broken = scratch.write("broken.fels", "program");
  for (const char* redirected : {"2>/dev/full", "2>&-"}) {
    CAPTURE(redirected);
    CHECK(in_shell("run " + scratch.path("absent"), redirected).code == kProgram);
    CHECK(in_shell("check " + broken, redirected).code == kProgram);
    CHECK(in_shell("run --frob", redirected).code == kUsage);
    CHECK(in_shell("frob", redirected).code == kUsage);
    CHECK(in_shell("run " + program + " --backend abacus", redirected).code == kDevice);
    const Outcome ran = in_shell(
        "run " + program + " --backend reference --timing --fixpoint 2 --count-out-of-bounds",
        redirected);
    CHECK(ran.code == 0);
    CHECK(ran.out == "o = 7\n");
    CHECK(in_shell("trace " + program + " --backend reference --to " + scratch.path("trace"),
                   redirected)
              .code == 0);
  }
}

TEST_CASE("a standard output that cannot be written is said, and is no success") {
  const Scratch scratch;
  const std::string program = scratch.write("p.fels", kProgramText);
  for (const std::string& arguments : std::vector<std::string>{
           "check " + program, "fmt " + program, "run " + program + " --backend reference",
           "run " + program + " --backend reference --json", "spirv " + program,
           "explain " + program + " --backend reference", "--help", "-h", "run --help", "--version",
           "man", "completion bash", "check --json " + program,
           "trace " + program + " --backend reference"}) {
    for (const char* redirected : {">/dev/full", ">&-"}) {
      CAPTURE(arguments);
      CAPTURE(redirected);
      const Outcome outcome = in_shell(arguments, redirected);
      CAPTURE(outcome.err);
      CHECK(outcome.code == kProgram);
      CHECK(contains(outcome.err, "felsite: Cannot write standard output: "));
      CHECK(contains(outcome.err, " Fix: "));
    }
  }
  CHECK(in_shell("run --json --frob", ">/dev/full").code == kUsage);
  CHECK(in_shell("run " + program + " --backend reference", ">/dev/full 2>/dev/full").code ==
        kProgram);
}

TEST_CASE("a closed standard stream is no file that is written by accident") {
  const Scratch scratch;
  const std::string program = scratch.write("p.fels", kProgramText);
  const std::string result = scratch.path("o.bin");
  const Outcome outcome =
      in_shell("run " + program + " --backend reference --timing -o o=@" + result, ">&- 2>&- <&-");
  CHECK(outcome.code == 0);  // nothing was to be printed
  CHECK(scratch.read("o.bin") == std::string("\7\0\0\0", 4));
  const Outcome no_input = in_shell("check -", "<&-");
  CHECK(no_input.code == kProgram);
}

TEST_CASE("where memory does not suffice the tool says so, as text and as JSON") {
  const Scratch scratch;
  const std::string program =
      scratch.write("p.fels", "program p workgroup(1) { readwrite x: u32[]; x[0] = 1; }");
  const std::string arguments = "run " + program + " --backend reference -i x=zeros:400000000";
  const std::string limited = "ulimit -v 800000; ";
  check_refused(in_shell(arguments, "", limited), kDevice, "memory");
  const Outcome json = in_shell(arguments + " --json", "", limited);
  CHECK(json.code == kDevice);
  CHECK(nlohmann::json::parse(json.out)["error"]["name"] == "DeviceOutOfMemory");
}
