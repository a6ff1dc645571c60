// Everything that can be wrong on the command line or in a file: one line, a fix, the right code.
#include "tool_runner.h"

using namespace felsite::test;

namespace {

Outcome run_saxpy(const Arguments& more) { return run_sample(sample_named("saxpy"), more); }

}  // namespace

TEST_CASE("no command, an unknown one, and unknown options are usage errors") {
  check_refused(run_tool({}), kUsage, "required");
  check_refused(run_tool({"frobnicate"}), kUsage, "There is no command `frobnicate`");
  check_refused(run_tool({"--frobnicate"}), kUsage, "`--frobnicate`");
  for (const char* command : {"check", "run", "trace", "spirv", "fmt"}) {
    CAPTURE(command);
    check_refused(run_tool({command}), kUsage, "FILE is required");
    check_refused(run_tool({command, "file", "--frobnicate"}), kUsage, "--frobnicate");
    check_refused(run_tool({command, "--frobnicate"}), kUsage, "no option `--frobnicate`");
    check_refused(run_tool({command, "--frobnicate=3"}), kUsage, "no option `--frobnicate`");
    CHECK(contains(run_tool({command}).err, std::string("felsite ") + command + " --help"));
  }
  for (const char* command : {"run", "trace", "spirv", "explain"}) {
    check_refused(run_tool({command, "one", "two"}), kUsage, "`two` is one argument too many");
  }
}

TEST_CASE("a mistyped command or option is answered with the one that is meant") {
  check_refused(run_tool({"chekc"}), kUsage, "There is no command `chekc`. Did you mean `check`?");
  check_refused(run_tool({"rnu"}), kUsage, "Fix: see felsite --help.");
  check_refused(run_tool({"--verison"}), kUsage, "Did you mean `--version`?");
  check_refused(run_tool({"run", "x", "--gird", "1"}), kUsage,
                "There is no option `--gird`. Did you mean `--grid`?");
  check_refused(run_tool({"run", "--fixpiont=3"}), kUsage, "Did you mean `--fixpoint`?");
  check_refused(run_tool({"fmt", "--chekc", "x"}), kUsage, "Did you mean `--check`?");
  check_refused(run_tool({"devices", "--josn"}), kUsage, "Did you mean `--json`?");
  // What is like nothing gets no suggestion.
  CHECK(!contains(run_tool({"run", "x", "--qqqqqqqqqq"}).err, "Did you mean"));
  CHECK(!contains(run_tool({"qqqqqqqqqq"}).err, "Did you mean"));
  check_refused(run_tool({"--json=false", "check", "x"}), kUsage, "stands before the command");
  // Another command's option is none of this one.
  check_refused(run_tool({"check", "x", "--grid", "1"}), kUsage, "There is no option `--grid`");
}

TEST_CASE("option values that are wrong by themselves are usage errors") {
  for (const char* text : {"x", "-1", "1,", ",1", "1,2,3,4", "1.5", "4294967296", "", "1 2"}) {
    CAPTURE(text);
    check_refused(run_saxpy({"--grid", text}), kUsage, "--grid");
    check_refused(run_saxpy({"--workgroup", text}), kUsage, "--workgroup");
  }
  check_refused(run_saxpy({"--order", "sideways"}), kUsage, "sideways");
  check_refused(run_saxpy({"--convergence", "sometimes"}), kUsage, "`sometimes`");
  check_refused(run_saxpy({"--subgroup-width", "0"}), kUsage, "--subgroup-width");
  check_refused(run_saxpy({"--subgroup-width", "65"}), kUsage, "--subgroup-width");
  check_refused(run_saxpy({"--fixpoint", "-1"}), kUsage, "--fixpoint");
  check_refused(run_saxpy({"--limit", "-1"}), kUsage, "--limit");
  check_refused(run_saxpy({"--seed", "x"}), kUsage, "--seed");
  check_refused(run_saxpy({"--timeout", "0"}), kUsage, "--timeout");
  check_refused(run_saxpy({"--timeout", "-2"}), kUsage, "--timeout");
  check_refused(run_saxpy({"--timeout", "nan"}), kUsage, "--timeout");
  check_refused(run_saxpy({"--input", "z"}), kUsage, "`z` is not NAME=");
  for (const char* option : {"--seed", "--limit"}) {
    check_refused(run_saxpy({option, "18446744073709551616"}), kUsage, "more than 64 bits");
    check_refused(run_saxpy({option, "99999999999999999999999"}), kUsage, option);
    CHECK(run_saxpy({option, "18446744073709551615"}).code == 0);
  }
  check_refused(run_saxpy({"--grid"}), kUsage, "--grid");
  for (const char* text : {"0", "00"}) {
    check_refused(run_saxpy({"--fixpoint", text}), kUsage, "is no iteration at all");
  }
  for (const char* text : {"0", "64,0", "1,1,0"}) {
    check_refused(run_saxpy({"--workgroup", text}), kUsage, "has a 0, and would run nothing");
  }
  for (const Arguments& option : {Arguments{"--fixpoint", "0"}, {"--workgroup", "0"}}) {
    check_refused(run_tool({"explain", "p.fels", option[0], option[1]}), kUsage, option[0]);
  }
}

TEST_CASE("an option with nothing behind its = has no value, and takes none from what follows") {
  const Scratch scratch;
  const std::string file = sample_named("saxpy").path;
  struct Row {
    const char* command;
    std::vector<const char*> options;
  };
  const Row rows[] = {
      {"run", {"--input", "--output", "--grid", "--fixpoint", "--timeout", "--limit", "--mask"}},
      {"trace", {"--to", "--output", "--order", "--seed"}},
      {"explain", {"--html", "--backend", "--convergence"}},
      {"spirv", {"--output", "--mask"}},
      {"check", {"--backend", "--device"}},
      {"fmt", {"--device"}},
      {"devices", {"--device", "--mask"}},
  };
  for (const Row& row : rows) {
    for (const std::string option : row.options) {
      CAPTURE(row.command);
      CAPTURE(option);
      const std::string message = option + " has no value: it takes ";
      Arguments arguments{row.command, option + "="};
      if (row.command != std::string_view("devices")) arguments.insert(arguments.begin() + 1, file);
      check_refused(run_tool(arguments), kUsage, message);
      arguments.push_back(scratch.path("swallowed"));
      check_refused(run_tool(arguments), kUsage, message);
      arguments.back() = "--json";
      const Outcome as_json = run_tool(arguments);
      CHECK(as_json.code == kUsage);
      CHECK(contains(as_json.out, message));
    }
  }
  CHECK(!std::filesystem::exists(scratch.path("swallowed")));
  // What is a value, or a file, is not an option.
  const std::string named = scratch.path("--to=");
  CHECK(run_tool({"trace", file, "--marked", "--to", named}).code == 0);
  check_refused(run_tool({"check", "--", "--device="}), kProgram, "No such file");
  const Outcome marked =
      run_tool({"run", "-", "--marked"}, "//! run: --grid= 1\nprogram p workgroup(1) { return; }");
  check_refused(marked, kProgram, "is wrong: --grid has no value: it takes X[,Y[,Z]].");
}

TEST_CASE("what is wrong with an option is said in the words of Felsite") {
  struct Row {
    Arguments options;
    std::string_view message;
  };
  const Row rows[] = {
      {{"--fixpoint", "x"}, "--fixpoint: `x` is not a whole number. Fix: "},
      {{"--fixpoint", "1.5"}, "--fixpoint: `1.5` is not a whole number. Fix: "},
      {{"--fixpoint=-1"}, "--fixpoint: `-1` is not a whole number. Fix: "},
      {{"--fixpoint", "0x10"}, "--fixpoint: `0x10` is not a whole number. Fix: "},
      {{"--fixpoint", "4294967296"}, "--fixpoint: `4294967296` takes more than 32 bits. Fix: "},
      {{"--fixpoint"}, "--fixpoint has no value: it takes N. Fix: "},
      {{"--order"}, "--order has no value: it takes forward|reversed|shuffled. Fix: "},
      {{"-i"}, "--input has no value: it takes NAME=FORM. Fix: "},
      {{"--fixpoint", "1", "--fixpoint", "2"}, "--fixpoint is given 2 times. Fix: "},
      {{"--seed", "1", "--seed", "1", "--seed", "1"}, "--seed is given 3 times. Fix: "},
      {{"--check=x"}, "--check is there or not, and has no value `x`. Fix: "},
      {{"--timing=x"}, "--timing is there or not, and has no value `x`. Fix: "},
      {{"--check=false"}, "--check is there or not, and has no value `false`. Fix: "},
      {{"--check=true"}, "--check is there or not, and has no value `true`. Fix: "},
      {{"--timing=3"}, "--timing is there or not, and has no value `3`. Fix: "},
  };
  for (const Row& row : rows) {
    CAPTURE(row.message);
    Arguments arguments{"run", "p.fels"};
    arguments.insert(arguments.end(), row.options.begin(), row.options.end());
    check_refused(run_tool(arguments), kUsage, row.message);
    arguments.insert(arguments.begin() + 1, "--json");
    const Outcome as_json = run_tool(arguments);
    CHECK(as_json.code == kUsage);
    const auto end = row.message.find(" Fix: ");
    CHECK(contains(as_json.out, row.message.substr(0, end)));
  }
  check_refused(run_tool({"run", "--json=x", "p.fels"}), kUsage, "--json is there or not");
  for (const char* command : {"explain", "trace"}) {
    check_refused(run_tool({command, "p.fels", "--fixpoint", "x"}), kUsage,
                  "--fixpoint: `x` is not a whole number. Fix: ");
  }
  check_refused(run_tool({"spirv", "p.fels", "--asm", "--binary"}), kUsage,
                "--binary and --asm do not go together. Fix: ");
  check_refused(run_tool({}), kUsage, "A command is required. Fix: ");
  const Outcome marked = run_tool({"run", "-", "--marked"},
                                  "//! run: --fixpoint x\nprogram p workgroup(1) { return; }");
  check_refused(marked, kProgram, "is wrong: --fixpoint: `x` is not a whole number.");
}

TEST_CASE("numbers are decimal, also with zeros in front") {
  CHECK(run_saxpy({"--limit", "010"}).out == run_saxpy({"--limit", "10"}).out);
  for (const char* option : {"--seed", "--limit", "--fixpoint", "--subgroup-width"}) {
    CHECK(run_saxpy({option, "08"}).code == 0);
  }
}

TEST_CASE("option values that do not suit the program are its user's fault") {
  check_refused(run_saxpy({"--fixpoint", "2", "--convergence", "flag:nope"}), kProgram, "`nope`");
  check_refused(run_saxpy({"--fixpoint", "2", "--convergence", "flag:y"}), kProgram, "`y`");
  check_refused(run_saxpy({"--workgroup", "70000"}), kProgram, "F024");
  check_refused(run_saxpy({"--grid", "4294967295"}), kProgram, "more than 32 bits");
  check_refused(run_sample(sample_named("rgb_to_grey"), {"--grid", "1"}), kProgram, "its grid");
}

TEST_CASE("a backend or a device that is not there is a device error") {
  check_refused(run_saxpy({"--backend", "abacus"}), kDevice, "There is no backend `abacus`");
  CHECK(contains(run_saxpy({"--backend", "abacus"}).err, "use reference or vulkan"));
  check_refused(run_saxpy({"--backend", "reference", "--device", "7"}), kDevice, "no device `7`");
}

TEST_CASE("devices without a driver is a device error, with the way to one") {
  const Environment old_name("VK_ICD_FILENAMES", "/dev/null/none.json");
  const Environment new_name("VK_DRIVER_FILES", "/dev/null/none.json");
  check_refused(run_tool({"devices"}), kDevice, "Vulkan");
  CHECK(run_tool({"devices", "--json"}).code == kDevice);
}

TEST_CASE("a grid that needs more memory than there is is a device error") {
  // A grid barrier keeps every workgroup of the grid.
  check_refused(run_sample(sample_named("prefix_scan"), {"--grid", "200000000,1000,1000"}), kDevice,
                "DeviceOutOfMemory");
}

TEST_CASE("a timeout ends a long run") {
  const Outcome outcome = run_tool({"run", "-", "--timeout", "0.2"},
                                   "program long workgroup(64) { output n: u32[1];"
                                   " loop i in 0..4294967295 { loop j in 0..4294967295 {"
                                   " n[0] = n[0] + 1; } } }");
  check_refused(outcome, kProgram, "Timeout");
}

TEST_CASE("files that are not there, directories and impossible names") {
  const Scratch scratch;
  for (const char* command : {"check", "run", "trace", "spirv", "fmt"}) {
    CAPTURE(command);
    check_refused(run_tool({command, scratch.path("absent.fels")}), kProgram, "No such file");
    check_refused(run_tool({command, scratch.path("")}), kProgram, "Is a directory");
    check_refused(run_tool({command, ""}), kProgram, "No such file");
    check_refused(run_tool({command, std::string(5000, 'x')}), kProgram, "File name too long");
  }
}

TEST_CASE("binary junk, truncated text and empty files are findings, never a crash") {
  std::string junk;
  for (unsigned i = 0; i < 4096; ++i) junk += static_cast<char>(i * 2654435761u >> 24);
  const std::string whole = sample_named("game_of_life").text;
  std::vector<std::string> texts{"", "\n", junk, std::string(3, '\0'), "\xef\xbb\xbf", "//"};
  for (std::size_t size = 0; size + 2 < whole.size(); size += whole.size() / 12) {
    texts.push_back(whole.substr(0, size));
  }
  texts.push_back("program p workgroup(1) { let a = " + std::string(100000, '(') + "1; }");
  texts.push_back("program p workgroup(1) " + std::string(100000, '{'));
  for (const std::string& text : texts) {
    for (const char* command : {"check", "run", "trace", "spirv", "fmt"}) {
      const Outcome outcome = run_tool({command, "-"}, text);
      CAPTURE(text.substr(0, 80));
      CAPTURE(outcome.err.substr(0, 200));
      CHECK(outcome.code == 1);
      CHECK(outcome.out.empty());
      CHECK(outcome.err.starts_with("standard input:"));
      CHECK(contains(outcome.err, " Fix: "));
    }
  }
}

TEST_CASE("the binary itself is not a program") {
  const Outcome outcome = run_tool({"check", FELSITE_TOOL});
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, "F002 not valid text"));
}

TEST_CASE("the fix for a file that cannot be read or written fits the reason") {
  const Scratch scratch;
  const auto refused = [](const Arguments& arguments, std::string_view fix) {
    const Outcome outcome = run_tool(arguments);
    CAPTURE(outcome.err);
    CHECK(outcome.code == kProgram);
    CHECK(contains(outcome.err, std::string(" Fix: ") + std::string(fix)));
  };
  for (const char* command : {"run", "check", "explain", "trace", "spirv"}) {
    refused({command, scratch.path("nosuch.fels")}, "check the path.");
    refused({command, scratch.path("")}, "name a file instead of a folder.");
  }
  const std::string saxpy = sample_named("saxpy").path;
  refused({"run", saxpy, "--marked", "-o", "y=@" + scratch.path("no/y")},
          "name a file in a folder that exists.");
  refused({"run", saxpy, "--marked", "-o", "y=@" + scratch.path("")},
          "name a file instead of a folder.");
  refused({"run", saxpy, "--marked", "-i", "y=@" + scratch.path("nosuch")}, "check the path.");
}
