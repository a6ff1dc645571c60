// -h, --help, completions and the manual page, which all come from the same table.
#include "tool_runner.h"

using namespace felsite::test;

namespace {

// Without bench, which hands its whole command line on to felsite-bench.
const std::vector<const char*> kCommands{"devices", "check", "run",        "explain", "trace",
                                         "spirv",   "fmt",   "completion", "man"};

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// The long options that a help names as its own: at the beginning of a line, or behind a short one.
std::vector<std::string> options_of(const std::string& help) {
  std::vector<std::string> options;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::size_t at = line.find("--");
    if (at < 8) options.push_back(line.substr(at, line.find_first_of(" \n", at) - at));
  }
  return options;
}

}  // namespace

TEST_CASE("-h is short, --help has everything, with examples") {
  for (const char* command : kCommands) {
    CAPTURE(command);
    const Outcome brief = run_tool({command, "-h"});
    const Outcome whole = run_tool({command, "--help"});
    CHECK(brief.code == 0);
    CHECK(whole.code == 0);
    CHECK(brief.err.empty());
    CHECK(lines_of(brief.out) <= 30);
    CHECK(lines_of(brief.out) < lines_of(whole.out));
    CHECK(contains(brief.out, std::string("Usage: felsite ") + command));
    CHECK(contains(whole.out, std::string("Usage: felsite ") + command));
    CHECK(contains(brief.out, std::string("`felsite ") + command + " --help`"));
    CHECK(contains(whole.out, std::string("Examples:\n  felsite ") + command));
    CHECK(contains(whole.out, "Exit codes: "));
    for (const std::string& option : options_of(brief.out)) CHECK(contains(whole.out, option));
    std::istringstream lines(brief.out + whole.out);
    for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 140, line);
  }
  // Both come before what is missing, and wherever they stand.
  CHECK(run_tool({"run", "x", "--help"}).out == run_tool({"run", "--help"}).out);
  CHECK(run_tool({"--help"}).out != run_tool({"-h"}).out);
}

TEST_CASE("the short help of run names what is used most") {
  const std::string help = run_tool({"run", "-h"}).out;
  for (const char* option :
       {"FILE", "--input NAME=FORM", "--output NAME=FORM", "--grid", "--invocations", "--marked",
        "--check", "--backend auto|vulkan|reference"}) {
    CHECK(contains(help, option));
  }
  CHECK(!contains(help, "--subgroup-width"));
}

TEST_CASE("the examples of the help run") {
  const Scratch scratch;
  int examples = 0;
  for (const char* command : {"check", "run", "explain", "trace", "spirv", "fmt", "man"}) {
    std::istringstream lines(run_tool({command, "--help"}).out);
    bool in_examples = false;
    for (std::string line; std::getline(lines, line);) {
      if (line == "Examples:") in_examples = true;
      if (line.empty()) in_examples = false;
      if (!in_examples || !line.starts_with("  felsite ")) continue;
      Arguments arguments;
      std::istringstream words(line.substr(10));
      for (std::string word; words >> word;) {
        if (word.starts_with("samples/")) word.insert(0, FELSITE_SOURCE_DIR "/");
        if (word.starts_with("/tmp/")) word = scratch.path(word.substr(5));
        if (word != "--check" || command == std::string("fmt")) arguments.push_back(word);
      }
      const NoDriver none;
      const Outcome outcome = run_tool(arguments);
      CAPTURE(line);
      CAPTURE(outcome.err);
      CHECK(outcome.code == 0);
      ++examples;
    }
  }
  CHECK(examples >= 12);
}

TEST_CASE("completions name every command and every option") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome outcome = run_tool({"completion", shell});
    CHECK(outcome.code == 0);
    for (const char* command : kCommands) {
      CHECK(contains(outcome.out, command));
      for (const std::string& option : options_of(run_tool({command, "--help"}).out)) {
        CAPTURE(shell);
        CAPTURE(option);
        CHECK(contains(outcome.out,
                       shell == std::string("fish") ? "-l " + option.substr(2) : option));
      }
    }
  }
  check_refused(run_tool({"completion", "tcsh"}), kUsage, "`tcsh` is none of bash, zsh, fish");
  check_refused(run_tool({"completion"}), kUsage, "SHELL is required");
}

TEST_CASE("bash completes commands, options, choices and files") {
  const Scratch scratch;
  const std::string script = scratch.write("felsite.bash", run_tool({"completion", "bash"}).out);
  scratch.write("my program.fels", "");
  scratch.write("other.fels", "");
  // What bash offers for a line whose last word is being typed.
  const auto offers = [&](const std::string& line) {
    const std::string program =
        "set -u; source " + script + "; cd " + scratch.path("") + "; COMP_WORDS=(" + line +
        "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _felsite; printf '%s\\n' \"${COMPREPLY[@]}\"";
    const Outcome outcome = run_binary("/bin/bash", {"-c", program});
    CHECK(outcome.err.empty());
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  CHECK(offers("felsite ch") == "check\n");
  CHECK(offers("felsite --ver") == "--version\n");
  CHECK(offers("felsite run --grid-") == "--grid-sync\n");
  CHECK(offers("felsite run x --order s") == "shuffled\n");
  CHECK(offers("felsite run x --order ''") == "forward\nreversed\nshuffled\n");
  CHECK(offers("felsite run x --convergence f") == "flag:\n");
  CHECK(offers("felsite check o") == "other.fels\n");
  CHECK(offers("felsite check m") == "my program.fels\n");
  CHECK(offers("felsite explain x --html o") == "other.fels\n");
  CHECK(offers("felsite completion f") == "fish\n");
  CHECK(offers("felsite run x --seed ''") == "\n");
}

TEST_CASE("the manual page has every command, every option, the exit codes and the environment") {
  const Outcome outcome = run_tool({"man"});
  CHECK(outcome.code == 0);
  CHECK(outcome.out.starts_with(".TH FELSITE 1 "));
  for (const char* section : {"NAME", "SYNOPSIS", "OPTIONS", "COMMANDS", "EXAMPLES", "NOTES"}) {
    CHECK(contains(outcome.out, std::string("\n.SH ") + section + "\n"));
  }
  // A minus sign is \-.
  const auto as_roff = [](std::string text) {
    std::string result;
    for (const char c : text) result += c == '-' ? std::string("\\-") : std::string(1, c);
    return result;
  };
  for (const char* command : kCommands) {
    CHECK(contains(outcome.out, std::string("\n.SS ") + command + "\n"));
    for (const std::string& option : options_of(run_tool({command, "--help"}).out)) {
      CAPTURE(option);
      CHECK(contains(outcome.out, as_roff(option)));
    }
  }
  CHECK(contains(outcome.out, "Exit codes: 0 ok"));
  CHECK(contains(outcome.out, "FELSITE_DEVICE="));
  // No line is a request by accident.
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    CHECK_MESSAGE(!line.starts_with('\''), line);
    if (line.starts_with('.')) {
      const std::string request = line.substr(0, line.find(' '));
      const std::vector<std::string> known{".TH", ".SH", ".SS", ".TP", ".B", ".PP", ".nf", ".fi"};
      CHECK_MESSAGE(std::ranges::find(known, request) != known.end(), line);
    }
  }
}
