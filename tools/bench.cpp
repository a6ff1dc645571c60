// felsite bench starts felsite-bench, a separate program: it contains a GLSL compiler, which the
// command does not need.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/errors.h"
#include "commands.h"
#include "report.h"

namespace felsite::tool {
namespace {

constexpr std::string_view kProgram = "felsite-bench";

// In this order: beside this command, in libexec, in PATH.
std::vector<std::filesystem::path> folders_to_look_in() {
  std::vector<std::filesystem::path> folders;
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) {
    folders.push_back(self.parent_path());
    folders.push_back(self.parent_path().parent_path() / "libexec" / "felsite");
  }
  const char* const path = std::getenv("PATH");
  std::istringstream rest(path == nullptr ? "" : path);
  for (std::string folder; std::getline(rest, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

std::string find_program() {
  for (const auto& folder : folders_to_look_in()) {
    const auto program = folder / kProgram;
    std::error_code failed;
    if (std::filesystem::is_regular_file(program, failed) && access(program.c_str(), X_OK) == 0) {
      return program.string();
    }
  }
  return {};
}

// Replaces this process, so that the exit code is that of the benchmarks.
int start_bench(std::vector<std::string> arguments) {
  const std::string program = find_program();
  if (program.empty()) {
    return report(
        base::unsupported("The benchmarks are not installed: there is no felsite-bench beside "
                          "felsite or in PATH.",
                          "build with -DFELSITE_BUILD_BENCH=ON and install the component `bench`."),
        false);
  }
  arguments.insert(arguments.begin(), std::string(kProgram));
  std::vector<char*> words;
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  execv(program.c_str(), words.data());
  return report(base::dispatch_failed(program + " cannot be started: " + std::strerror(errno) + ".",
                                      "install the component `bench` again."),
                false);
}

}  // namespace

void add_bench(CLI::App& app, CommonOptions&, Action& action) {
  CLI::App* command =
      app.add_subcommand("bench", "Measure Felsite against peers (starts felsite-bench)");
  // All options, even --help, are those of felsite-bench.
  command->set_help_flag();
  command->set_help_all_flag();
  command->prefix_command();
  command->callback(
      [command, &action] { action = [command] { return start_bench(command->remaining()); }; });
}

}  // namespace felsite::tool
