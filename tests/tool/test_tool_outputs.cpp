// The ways to show a result, as text, as files and as JSON.
#include <sys/stat.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tool_runner.h"

using namespace felsite::test;
using nlohmann::json;

namespace {

constexpr std::string_view kTwo = R"(program two workgroup(1) {
  readonly n: u32[1];
  output words: u32[100];
  output bytes: i8[2];
  loop i in 0..n[0] {
    words[i] = i + 250;
  }
  bytes[0] = -1i8;
  bytes[1] = 16i8;
})";

Outcome run_two(Arguments more = {}) {
  Arguments arguments{"run", "-", "--grid", "1", "--input", "n=100"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_tool(arguments, kTwo);
}

}  // namespace

TEST_CASE("all results are printed, long ones cut") {
  const Outcome outcome = run_two();
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK(outcome.out.starts_with("words = 250 251 252"));
  CHECK(contains(outcome.out, " 313 … (36 more)\n"));
  CHECK(contains(outcome.out, "\nbytes = -1 16\n"));
}

TEST_CASE("--limit says where to cut") {
  CHECK(run_two({"--limit", "2"}).out == "words = 250 251 … (98 more)\nbytes = -1 16\n");
  CHECK(run_two({"--limit", "0"}).out == "words = … (100 more)\nbytes = … (2 more)\n");
  CHECK(contains(run_two({"--limit", "100"}).out, " 349\n"));
}

TEST_CASE("--output chooses results, and shows them whole") {
  CHECK(run_two({"--output", "bytes=numbers"}).out == "bytes = -1 16\n");
  const Outcome words = run_two({"-o", "words=numbers", "--limit", "2"});
  CHECK(contains(words.out, " 349\n"));
  CHECK(!contains(words.out, "bytes"));
}

TEST_CASE("hexadecimal shows the bits of each element") {
  CHECK(run_two({"-o", "bytes=hex"}).out == "bytes = ff 10\n");
  CHECK(run_two({"-o", "words=hex"}).out.starts_with("words = 000000fa 000000fb"));
  const Outcome outcome = run_tool(
      {"run", sample_named("saxpy").path, "-i", "a=1", "-i", "x=0", "-i", "y=1", "-o", "y=hex"});
  CHECK(outcome.out == "y = 3f800000\n");
}

TEST_CASE("an output goes to a file, byte for byte") {
  const Scratch scratch;
  const Outcome outcome = run_two({"-o", "bytes=@" + scratch.path("b"), "-o", "words=hex"});
  CHECK(outcome.code == 0);
  CHECK(scratch.read("b") == "\xff\x10");
  CHECK(outcome.out.starts_with("words = "));
  CHECK(!contains(outcome.out, "bytes"));
}

TEST_CASE("what one run writes the next one reads") {
  const Scratch scratch;
  const Sample scan = sample_named("prefix_scan");
  const std::string file = scratch.path("sums");
  CHECK(run_tool({"run", scan.path, "-i", "x=1,1,1", "-o", "x=@" + file}).code == 0);
  CHECK(run_tool({"run", scan.path, "-i", "x=@" + file}).out == "x = 1 3 6\n");
}

TEST_CASE("an output goes to standard output as raw bytes") {
  CHECK(run_two({"-o", "bytes=@-"}).out == "\xff\x10");
}

TEST_CASE("an output that is none, or cannot be written, is refused") {
  check_refused(run_two({"-o", "nope=hex"}), 1, "The program has no output `nope`");
  check_refused(run_two({"-o", "n=hex"}), 1, "The program has no output `n`");
  check_refused(run_two({"-o", "bytes=hex", "-o", "bytes=hex"}), 1, "`bytes` is given twice");
  check_refused(run_two({"-o", "bytes=octal"}), 2, "`bytes=octal`");
  check_refused(run_two({"-o", "bytes"}), 2, "`bytes`");
  check_refused(run_two({"-o", "bytes=@"}), 2, "`bytes=@`");
  check_refused(run_two({"-o", "bytes=@/dev/null/file"}), 1, "Cannot write");
}

TEST_CASE("two outputs do not go to one file") {
  const Scratch scratch;
  const std::string file = scratch.path("both");
  check_refused(run_two({"-o", "words=@" + file, "-o", "bytes=@" + file}), 2, "two outputs");
  const std::string same = scratch.path("./both");
  check_refused(run_two({"-o", "words=@" + file, "-o", "bytes=@" + same}), 2, "two outputs");
  CHECK(run_two({"-o", "words=@" + file, "-o", "bytes=@" + file + "2"}).code == 0);
}

TEST_CASE("a trace and an output do not go to one file") {
  const Scratch scratch;
  const std::string file = scratch.write("both", "as it was");
  std::filesystem::create_symlink(file, scratch.path("link"));
  const auto trace_to = [&](const std::string& to, const Arguments& more) {
    Arguments arguments{"trace", scratch.write("two.fels", kTwo), "-i", "n=3", "--to", to};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  for (const std::string& same : {file, scratch.path("./both"), scratch.path("link")}) {
    CAPTURE(same);
    const Outcome outcome = trace_to(same, {"-o", "words=@" + file});
    check_refused(outcome, kUsage, "the trace and an output cannot both go to one file");
    CHECK(contains(outcome.err, " Fix: name another file for --to."));
    CHECK(scratch.read("both") == "as it was");
    const json body = json::parse(trace_to(same, {"-o", "words=@" + file, "--json"}).out);
    CHECK(body["error"]["name"] == "Usage");
  }
  CHECK(trace_to(scratch.path("trace"), {"-o", "words=@" + file}).code == 0);
}

TEST_CASE("links to a file that is yet to come are that file") {
  const Scratch scratch;
  const std::string file = scratch.path("t");
  std::filesystem::create_symlink("t", scratch.path("link"));
  std::filesystem::create_symlink(scratch.path("link"), scratch.path("link2"));
  std::filesystem::create_symlink("circle", scratch.path("circle"));
  for (const char* link : {"link", "link2"}) {
    CAPTURE(link);
    const std::string same = scratch.path(link);
    check_refused(run_two({"-o", "words=@" + file, "-o", "bytes=@" + same}), kUsage, "two outputs");
    check_refused(run_two({"-o", "words=@" + same, "-o", "bytes=@" + file}), kUsage, "two outputs");
    check_refused(run_tool({"trace", "-", "-i", "n=3", "--to", file, "-o", "words=@" + same}, kTwo),
                  kUsage, "the trace and an output cannot both go to one file");
  }
  // In the working folder too, by a name without one.
  const Outcome here =
      run_binary("/bin/sh",
                 {"-c", "cd " + scratch.path("") +
                            " && exec " FELSITE_TOOL
                            " run - --backend reference -i n=3 -o words=@t -o bytes=@link"},
                 kTwo);
  check_refused(here, kUsage, "two outputs");
  CHECK(!std::filesystem::exists(file));
  check_refused(run_two({"-o", "words=@" + scratch.path("circle")}), kProgram, "Cannot write");
  CHECK(run_two({"-o", "words=@" + scratch.path("link2")}).code == 0);
  CHECK(scratch.read("t").size() == 400);
}

TEST_CASE("no result replaces the program, nor what else a command reads") {
  const Scratch scratch;
  const std::string program = scratch.write("p.fels", kTwo);
  const std::string input = scratch.write("n.bin", std::string("\3\0\0\0", 4));
  std::filesystem::create_symlink("p.fels", scratch.path("link"));
  const auto refused = [&](const char* command, const Arguments& more, std::string_view reason) {
    Arguments arguments{command, program, "-i", "n=@" + input};
    if (command == std::string_view("spirv")) arguments.resize(2);
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = run_tool(arguments);
    check_refused(outcome, kUsage, reason);
    CHECK(contains(outcome.err, " Fix: name another file for "));
    CHECK(scratch.read("p.fels") == kTwo);
    CHECK(scratch.read("n.bin").size() == 4);
  };
  for (const std::string& same : {program, scratch.path("link"), scratch.path("./p.fels")}) {
    CAPTURE(same);
    refused("run", {"-o", "words=@" + same}, "an output would replace the program's own file");
    refused("trace", {"-o", "words=@" + same}, "an output would replace the program's own file");
    refused("trace", {"--to", same}, "the trace would replace the program's own file");
    refused("explain", {"--html", same}, "the page would replace the program's own file");
    refused("spirv", {"-o", same}, "the module would replace the program's own file");
  }
  refused("trace", {"--to", input}, "the trace would replace the file of an input");
  refused("explain", {"--html", input}, "the page would replace the file of an input");
}

TEST_CASE("a file of data may be brought up to date in place") {
  const Scratch scratch;
  const std::string data = scratch.write("x", std::string("\1\0\0\0\1\0\0\0", 8));
  const std::string scan = sample_named("prefix_scan").path;
  for (const char* command : {"run", "trace"}) {
    CHECK(run_tool({command, scan, "-i", "x=@" + data, "-o", "x=@" + data}).code == 0);
  }
  CHECK(run_tool({"run", scan, "-i", "x=@" + data, "-o", "x=numbers"}).out == "x = 1 4\n");
}

TEST_CASE("/dev/stdout is standard output, however it is named") {
  const Scratch scratch;
  const std::string program = scratch.write("two.fels", kTwo);
  std::filesystem::create_symlink("/dev/stdout", scratch.path("link"));
  for (const std::string& name : {std::string("/dev/stdout"), std::string("/dev/fd/1"),
                                  std::string("/proc/self/fd/1"), scratch.path("link")}) {
    CAPTURE(name);
    CHECK(run_two({"-o", "bytes=@" + name}).out == "\xff\x10");
    const auto refused = [&](Arguments arguments, std::string_view reason) {
      const bool is_json = arguments.back() == "--json";
      const Outcome outcome = run_tool(arguments);
      CHECK(outcome.code == kUsage);
      CHECK(contains(is_json ? outcome.out : outcome.err, reason));
      if (is_json) CHECK(json::parse(outcome.out)["error"]["name"] == "Usage");
    };
    const std::string both = " cannot both go to standard output";
    refused({"run", program, "-i", "n=3", "-o", "bytes=@" + name, "--json"},
            "an output and --json" + both);
    refused({"trace", program, "-i", "n=3", "--to", name, "--json"}, "the trace and --json" + both);
    refused({"trace", program, "-i", "n=3", "-o", "bytes=@" + name}, "the trace and an output");
    refused({"trace", program, "-i", "n=3", "--to", name, "-o", "bytes=@-"},
            "the trace and an output" + both);
    refused({"explain", program, "--backend", "reference", "--html", name, "--json"},
            "the page and --json" + both);
    refused({"spirv", program, "-o", name, "--json"}, "the module and --json" + both);
    CHECK(json::parse(run_tool({"trace", program, "-i", "n=3", "--to", name}).out).is_object());
  }
}

TEST_CASE("fmt --write replaces plain files only, and waits for nobody") {
  const Scratch scratch;
  const std::string pipe = scratch.path("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  std::jthread writer([&] { std::ofstream(pipe) << "program p workgroup(1) { return; }"; });
  check_refused(run_tool({"fmt", "-w", pipe}), 1, "not a plain file");
}

TEST_CASE("a result that standard output does not take is no success") {
  for (const Arguments& arguments :
       {Arguments{"--version"}, Arguments{"--help"}, Arguments{"check", sample_named("saxpy").path},
        Arguments{"fmt", sample_named("saxpy").path}}) {
    const Outcome outcome = run_tool(arguments, {}, "/dev/full");
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.err, "Cannot write standard output"));
  }
}

TEST_CASE("the reason why standard output was not written is the true one, whatever failed first") {
  // Some of them are longer than a buffer, some are written out before the end: the write that
  // fails is then not the last.
  const Scratch scratch;
  const std::string long_text =
      scratch.write("long.fels", std::string(kTwo) + "//" + std::string(100'000, 'x') + "\n");
  const std::string two = scratch.write("two.fels", kTwo);
  for (const Arguments& arguments :
       {Arguments{"--version"}, Arguments{"man"}, Arguments{"fmt", long_text},
        Arguments{"fmt", long_text, two}, Arguments{"run", two, "-i", "n=3"},
        Arguments{"run", two, "-i", "n=3", "--timing"},
        Arguments{"run", two, "-i", "n=3", "--json"},
        Arguments{"run", two, "-i", "n=3", "-o", "bytes=@-"},
        Arguments{"run", two, "-i", "n=3", "-o", "bytes=@/dev/stdout"},
        Arguments{"trace", two, "-i", "n=3"}}) {
    CAPTURE(arguments);
    const Outcome outcome = run_tool(arguments, {}, "/dev/full");
    CAPTURE(outcome.err);
    CHECK(outcome.code == 1);
    CHECK(contains(outcome.err, "No space left on device"));
    CHECK_FALSE(contains(outcome.err, "Input/output error"));
  }
}

TEST_CASE("what fmt writes can be read again: a text that would grow beyond the limit stays") {
  const Scratch scratch;
  std::string text = "program p workgroup(1){return;}//";
  text.resize(std::size_t{64} << 20, 'x');
  const std::string path = scratch.write("most.fels", text);
  CHECK(run_tool({"check", path}).code == 0);
  for (const Arguments& arguments :
       {Arguments{"fmt", "-w", path}, Arguments{"fmt", path}, Arguments{"fmt", "--check", path}}) {
    const Outcome outcome = run_tool(arguments);
    CAPTURE(outcome.err.substr(0, 300));
    CHECK(outcome.code == kProgram);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, "F002"));
    CHECK(contains(outcome.err, "would be longer than 64 MiB"));
    CHECK(contains(outcome.err, " Fix: "));
    CHECK(std::filesystem::file_size(path) == text.size());
  }
  const bool is_kept = scratch.read("most.fels") == text;  // too long to print
  CHECK(is_kept);
}

TEST_CASE("results as JSON") {
  const Outcome outcome = run_two({"--json"});
  CHECK(outcome.code == 0);
  const json body = json::parse(outcome.out);
  CHECK(body["program"] == "two");
  CHECK(body["iterations_run"] == 1);
  CHECK(body["converged"] == false);
  CHECK(body["wall_ns"].is_number_unsigned());
  CHECK(body["outputs"]["bytes"]["type"] == "i8");
  CHECK(body["outputs"]["bytes"]["style"] == "numbers");
  CHECK(body["outputs"]["bytes"]["values"].is_array());
  // Whole, whatever the limit for people is.
  CHECK(contains(body["outputs"]["words"].dump(), "349"));
  CHECK(!contains(outcome.out, "…"));
}

TEST_CASE("JSON names the files that were written") {
  const Scratch scratch;
  const std::string file = scratch.path("b");
  const json body = json::parse(run_two({"--json", "-o", "bytes=@" + file}).out);
  CHECK(body["outputs"]["bytes"]["file"] == file);
  CHECK(body["outputs"]["bytes"]["bytes"] == 2);
  CHECK(!body["outputs"].contains("words"));
}

TEST_CASE("JSON reports a fixpoint") {
  const Sample sample = sample_named("reachability");
  const json converged = json::parse(run_sample(sample, {"--json"}).out);
  CHECK(converged["converged"] == true);
  CHECK(converged["iterations_run"].get<int>() >= 2);
  CHECK(converged["iterations_run"].get<int>() <= 16);
  const json bound = json::parse(run_sample(sample, {"--json", "--convergence", "none"}).out);
  CHECK(bound["converged"] == false);
  CHECK(bound["iterations_run"] == 16);
}

TEST_CASE("errors and findings as JSON") {
  const Outcome missing = run_tool({"run", sample_named("saxpy").path, "--json"});
  CHECK(missing.code == 1);
  CHECK(missing.err.empty());
  const json error = json::parse(missing.out)["error"];
  CHECK(error["code"] == 1009);
  CHECK(error["name"] == "BadInputs");
  CHECK(!error["fix"].get<std::string>().empty());

  for (const char* command : {"check", "run", "spirv", "fmt"}) {
    CAPTURE(command);
    const Outcome outcome = run_tool({command, "-", "--json"}, "program a workgroup(1) { let }");
    CHECK(outcome.code == 1);
    CHECK(outcome.err.empty());
    const json body = json::parse(outcome.out);
    REQUIRE(body["findings"].size() == 1);
    CHECK(body["findings"][0]["code"] == "F001");
    CHECK(body["findings"][0]["line"] == 1);
    CHECK(body["findings"][0]["column"] == 30);
  }
}

TEST_CASE("JSON stays valid when the file is not text") {
  const Outcome outcome = run_tool({"check", "-", "--json"}, "program \xff\xfe");
  CHECK(outcome.code == 1);
  CHECK(json::parse(outcome.out)["findings"][0]["code"] == "F002");
}

TEST_CASE("a file that standard input is read from is not replaced") {
  const Scratch scratch;
  const std::string program = scratch.write("two.fels", kTwo);
  std::filesystem::create_symlink(program, scratch.path("link"));
  const auto with_input = [&](const std::string& options) {
    return run_binary("/bin/sh", {"-c", FELSITE_TOOL " " + options + " < " + program});
  };
  for (const char* name : {"two.fels", "link"}) {
    CAPTURE(name);
    const std::string file = scratch.path(name);
    check_refused(with_input("run - --backend reference -i n=3 -o words=@" + file), kUsage,
                  "an output would replace the program's own file");
    check_refused(with_input("explain - --backend reference --html " + file), kUsage,
                  "the page would replace the program's own file");
    check_refused(with_input("spirv - -o " + file), kUsage, "replace");
    CHECK(scratch.read("two.fels") == kTwo);
  }
  const Outcome apart =
      with_input("run - --backend reference -i n=3 -o bytes=@" + scratch.path("b"));
  CHECK(apart.code == 0);
  CHECK(scratch.read("b") == "\xff\x10");
}

// What is written to a hard link leaves the file itself as it is.
TEST_CASE("a hard link to the program is another file, however the program is read") {
  const Scratch scratch;
  const std::string program = scratch.write("two.fels", kTwo);
  for (const std::string& read : {program, "- < " + program}) {
    CAPTURE(read);
    std::filesystem::remove(scratch.path("hard"));
    std::filesystem::create_hard_link(program, scratch.path("hard"));
    const Outcome outcome =
        run_binary("/bin/sh", {"-c", FELSITE_TOOL " run --backend reference -i n=3 -o words=@" +
                                         scratch.path("hard") + " " + read});
    CHECK(outcome.code == 0);
    CHECK(scratch.read("two.fels") == kTwo);
    CHECK(scratch.read("hard") != kTwo);
  }
}
