// Files that the tool reads and writes: bounded, and never half.
#include <sys/stat.h>

#include "support/skip.h"
#include "tool_runner.h"

using namespace felsite::test;

namespace {

constexpr std::string_view kRough =
    "program p workgroup(1) { readwrite x: u32[];\n     x[0]   = x[0] + 1; }\n";
constexpr std::string_view kCounting =
    "program a_name_so_long_that_the_trace_of_one_run_is_longer_than_a_block_of_the_disk"
    " workgroup(64) { output y: u32[65536]; y[invocation.x] = invocation.x; }\n";

// A command of the shell, in which $F is the tool and $D a folder of the test.
Outcome run_shell(const std::string& command, const Scratch& scratch) {
  const Environment tool("F", FELSITE_TOOL);
  const std::string folder = scratch.path("");
  const Environment where("D", folder.c_str());
  return run_binary("/bin/sh", {"-c", command});
}

std::size_t count_files(const Scratch& scratch) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(scratch.path(""))) {
    ++count;
  }
  return count;
}

// Every command that writes a file, with the file as $O.
const std::vector<std::string> kWriters{
    "\"$F\" fmt -w \"$O\"",
    "\"$F\" run \"$D/counting.fels\" --backend reference --grid 1024 -o y=@\"$O\"",
    "\"$F\" explain \"$D/counting.fels\" --backend reference --grid 1024 --html \"$O\"",
    "\"$F\" trace \"$D/counting.fels\" --backend reference --grid 1024 --to \"$O\"",
};

// What is long already, and stays formatted differently.
std::string long_source() {
  std::string text(kRough);
  for (int i = 0; i < 3000; ++i) text += "// a line of comment that fills the file\n";
  return text;
}

}  // namespace

TEST_CASE("a source or a result survives a limit on the size of files, and the tool says so") {
  for (const std::string& writer : kWriters) {
    CAPTURE(writer);
    const Scratch scratch;
    scratch.write("counting.fels", kCounting);
    scratch.write("old", long_source());
    const Outcome outcome = run_shell("O=\"$D/old\"; ulimit -f 1; " + writer, scratch);
    CHECK(outcome.code == kProgram);
    CHECK(contains(outcome.err, "File too large"));
    CHECK(contains(outcome.err, " Fix: "));
    CHECK(scratch.read("old") == long_source());
    CHECK(count_files(scratch) == 2);
  }
}

#if defined(FELSITE_BENCH) && defined(NDEBUG)
TEST_CASE("what the benchmarks wrote earlier survives a limit on the size of files") {
  const Scratch scratch;
  for (const char* option : {"--json", "--html"}) {
    CAPTURE(option);
    scratch.write("old", long_source());
    const Outcome outcome = run_shell(
        std::string("ulimit -f 1; \"$F\" bench --quick --rows program_bytes --bound 1000 ") +
            option + " \"$D/old\" > /dev/null",
        scratch);
    CHECK(outcome.code == kDevice);
    CHECK(contains(outcome.err, "File too large"));
    CHECK(scratch.read("old") == long_source());
    CHECK(count_files(scratch) == 1);
  }
}
#endif

TEST_CASE("standard output that reaches a limit on the size of files is an error, not a signal") {
  const Scratch scratch;
  scratch.write("old", long_source());
  const Outcome outcome = run_shell("ulimit -f 1; \"$F\" fmt \"$D/old\" > \"$D/out\"", scratch);
  CHECK(outcome.code == kProgram);
  CHECK(contains(outcome.err, "Cannot write standard output"));
}

TEST_CASE("a source or a result survives a full disk") {
  const Scratch probe;
  FELSITE_SKIP_IF(run_shell("unshare -m mount -t tmpfs none \"$D\"", probe).code != 0,
                  "this user may not mount a small disk");
  for (const std::string& writer : kWriters) {
    CAPTURE(writer);
    const Scratch scratch;
    scratch.write("counting.fels", kCounting);
    scratch.write("source", long_source());
    // The disk has room for the old file and not for another one.
    const Outcome outcome = run_shell(
        "mkdir \"$D/disk\"; export O=\"$D/disk/old\"; export W='" + writer +
            "'; unshare -m sh -c 'mount -t tmpfs -o size=160k none \"$D/disk\" && "
            "cp \"$D/source\" \"$O\" && dd if=/dev/zero of=\"$D/disk/fill\" bs=4k 2>/dev/null; "
            "eval \"$W\" > /dev/null; echo code $?; cmp \"$O\" \"$D/source\" && echo whole; "
            "ls -A \"$D/disk\" | wc -l'",
        scratch);
    CAPTURE(outcome.err);
    CHECK(outcome.out == "code 1\nwhole\n2\n");
    CHECK(contains(outcome.err, "No space left"));
  }
}

TEST_CASE("fmt -w keeps the mode, and changes the file that a symbolic link leads to") {
  const Scratch scratch;
  const std::string file = scratch.write("p.fels", kRough);
  REQUIRE(chmod(file.c_str(), 0640) == 0);
  std::filesystem::create_symlink("p.fels", scratch.path("link.fels"));
  CHECK(run_tool({"fmt", "-w", scratch.path("link.fels")}).code == 0);
  CHECK(std::filesystem::is_symlink(scratch.path("link.fels")));
  CHECK(scratch.read("p.fels") != kRough);
  CHECK(run_tool({"fmt", "--check", file}).code == 0);
  struct stat status {};
  REQUIRE(stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 0640);
  CHECK(count_files(scratch) == 2);
}

TEST_CASE("results go through pipes and to /dev/stdout behind what was printed before") {
  const Scratch scratch;
  scratch.write("p.fels", "program p workgroup(1) { output y: u32[2]; y[0] = 7; y[1] = 8; }");
  const std::string run = "\"$F\" run \"$D/p.fels\" --backend reference --grid 1 -o y=@";
  const Outcome piped = run_shell(
      "mkfifo \"$D/pipe\"; cat \"$D/pipe\" > \"$D/got\" & " + run + "\"$D/pipe\"; wait", scratch);
  CHECK(piped.code == 0);
  const std::string expected("\7\0\0\0\10\0\0\0", 8);
  CHECK(scratch.read("got") == expected);
  CHECK(run_shell("{ printf before; " + run + "/dev/stdout; } > \"$D/out\"", scratch).code == 0);
  CHECK(scratch.read("out") == "before" + expected);
  CHECK(run_shell(run + "/dev/stdout | cat > \"$D/out\"", scratch).code == 0);
  CHECK(scratch.read("out") == expected);
  CHECK(contains(run_shell(run + "/dev/full", scratch).err, "No space left"));
}

TEST_CASE("what has no end is refused by every command that reads, with the limit") {
  const Scratch scratch;
  scratch.write("p.fels", kRough);
  for (const char* command : {"check", "run", "explain", "trace", "spirv", "fmt"}) {
    CAPTURE(command);
    check_refused(run_tool({command, "/dev/zero"}), kProgram, "64 MiB");
  }
  const Outcome endless = run_shell("yes | \"$F\" check -", scratch);
  check_refused(endless, kProgram, "64 MiB");
  check_refused(run_tool({"run", scratch.path("p.fels"), "-i", "x=@/dev/zero"}), kProgram,
                "256 MiB");
  check_refused(run_tool({"explain", scratch.path("p.fels"), "-i", "x=@/dev/zero"}), kProgram,
                "256 MiB");
}

TEST_CASE("a text of 64 MiB is read, and one byte more is refused") {
  const Scratch scratch;
  const std::size_t most = std::size_t{64} << 20;
  std::string text(kRough);
  text += "//";
  text.resize(most, ' ');
  text.back() = '\n';
  const std::string file = scratch.write("p.fels", text);
  CHECK(run_tool({"check", file}).code == 0);
  scratch.write("p.fels", text + " ");
  check_refused(run_tool({"check", file}), kProgram, "64 MiB");
}

TEST_CASE("an input file larger than any memory is refused before it is read") {
  const Scratch scratch;
  const std::string program = scratch.write("p.fels", kRough);
  const std::string file = scratch.write("x", "");
  REQUIRE(truncate(file.c_str(), off_t{1} << 42) == 0);
  check_refused(run_tool({"run", program, "-i", "x=@" + file}), kProgram, "MiB, which is the most");
}
