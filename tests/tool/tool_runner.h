// Runs the built `felsite` binary, and reads the samples with their directives.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

extern char** environ;

namespace felsite::test {

// Exit codes: whom the command holds at fault.
inline constexpr int kProgram = 1;
inline constexpr int kUsage = 2;
inline constexpr int kDevice = 3;

using Arguments = std::vector<std::string>;

inline std::string read_whole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A separate folder for each test, removed at its end.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "felsite_tool_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    folder_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::string read(std::string_view name) const { return read_whole(path(name)); }

 private:
  std::filesystem::path folder_;
};

// Sets a variable for the tools started meanwhile.
class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    if (const char* const before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Environment() {
    if (before_) {
      setenv(name_, before_->c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// No file can have such a name, on any machine.
struct NoDriver {
  Environment old_name{"VK_ICD_FILENAMES", "/dev/null/none.json"};
  Environment new_name{"VK_DRIVER_FILES", "/dev/null/none.json"};
};

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

// tests/tool runs where there is no device, and looks at what the tool does with its arguments:
// there, runs that name no backend are the reference's. tests/tool_device leaves the choice to the
// tool.
inline Arguments with_backend(Arguments arguments) {
#ifdef FELSITE_RUN_BACKEND
  const bool runs = !arguments.empty() && (arguments[0] == "run" || arguments[0] == "trace");
  const bool named = std::ranges::any_of(
      arguments, [](const std::string& word) { return word.starts_with("--backend"); });
  if (runs && !named) {
    arguments.insert(arguments.begin() + 1, {"--backend", FELSITE_RUN_BACKEND});
  }
#endif
  return arguments;
}

// Standard streams go through files, so that no amount of output can block either side.
inline Outcome run_binary(const std::string& binary, const Arguments& arguments,
                          std::string_view input = {}, const std::string& out_path = {}) {
  const Scratch scratch;
  const std::string in = scratch.write("in", input);
  const std::string out = out_path.empty() ? scratch.path("out") : out_path;
  const std::string err = scratch.path("err");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, in.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, out.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, err.c_str(), O_WRONLY | O_CREAT, 0600);
  std::vector<std::string> words{binary};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int spawned = posix_spawn(&child, binary.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(spawned == 0);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  // A signal must never look like an exit code.
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  Outcome outcome{code, out_path.empty() ? scratch.read("out") : std::string(),
                  scratch.read("err")};
  // Where FELSITE_VALIDATION turns the layer on it must have nothing to say.
  CHECK_MESSAGE(outcome.err.find("warning: validation") == std::string::npos, outcome.err);
  return outcome;
}

inline Outcome run_tool(const Arguments& arguments, std::string_view input = {},
                        const std::string& out_path = {}) {
  return run_binary(FELSITE_TOOL, with_backend(arguments), input, out_path);
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// The promise for everything that goes wrong: nothing on standard output, one line that says what
// and how to fix it, and the exit code of its kind.
inline void check_refused(const Outcome& outcome, int code, std::string_view reason) {
  CAPTURE(outcome.err);
  CHECK(outcome.code == code);
  CHECK(outcome.out.empty());
  CHECK(std::ranges::count(outcome.err, '\n') == 1);
  CHECK(outcome.err.starts_with("felsite: "));
  CHECK(contains(outcome.err, reason));
  CHECK(contains(outcome.err, " Fix: "));
}

struct Sample {
  std::string name;
  std::string path;
  std::string about;
  std::string text;
  Arguments arguments;
  std::vector<std::string> expected;  // "NAME = v v v", as the tool prints it
};

inline std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? std::string_view() : text.substr(first);
}

inline Sample read_sample(const std::filesystem::path& path) {
  Sample sample{.name = path.stem().string(),
                .path = path.string(),
                .about = {},
                .text = read_whole(path),
                .arguments = {},
                .expected = {}};
  std::istringstream lines(sample.text);
  for (std::string line; std::getline(lines, line) && line.starts_with("//");) {
    const auto value_of = [&](std::string_view directive) {
      const std::string head = "//! " + std::string(directive) + ":";
      return line.starts_with(head)
                 ? std::string(trimmed(std::string_view(line).substr(head.size())))
                 : std::string();
    };
    if (const std::string about = value_of("about"); !about.empty()) sample.about = about;
    std::istringstream words(value_of("run"));
    for (std::string word; words >> word;) sample.arguments.push_back(word);
    if (std::string expected = value_of("expect"); !expected.empty()) {
      expected.replace(expected.find('='), 1, " = ");
      sample.expected.push_back(expected);
    }
  }
  return sample;
}

inline std::vector<Sample> all_samples() {
  std::vector<Sample> samples;
  for (const auto& entry : std::filesystem::directory_iterator(FELSITE_SOURCE_DIR "/samples")) {
    if (entry.path().extension() == ".fels") samples.push_back(read_sample(entry.path()));
  }
  std::ranges::sort(samples, {}, &Sample::name);
  return samples;
}

inline Sample sample_named(std::string_view name) {
  return read_sample(std::string(FELSITE_SOURCE_DIR "/samples/") + std::string(name) + ".fels");
}

// `felsite run SAMPLE` with the sample's own arguments and then these.
inline Outcome run_sample(const Sample& sample, const Arguments& more = {}) {
  Arguments arguments{"run", sample.path};
  arguments.insert(arguments.end(), sample.arguments.begin(), sample.arguments.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_tool(arguments);
}

// What the sample states is what it prints, whole lines, in any order.
inline void check_expected(const Sample& sample, const Outcome& outcome) {
  CAPTURE(sample.name);
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  for (const std::string& line : sample.expected) {
    CAPTURE(line);
    CHECK(contains("\n" + outcome.out, "\n" + line + "\n"));
  }
}

}  // namespace felsite::test
