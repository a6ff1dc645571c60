// felsite: list devices; check, run, explain, trace, lower, format and measure programs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>

#include "commands.h"
#include "felsite/environment.h"

namespace felsite::tool {

void add_common(CLI::App& command, CommonOptions& common) {
  command.add_flag("--json", common.json, "Print results and errors as JSON");
  command
      .add_option("--backend", common.backend,
                  "Which backend runs the program: auto, vulkan or reference")
      ->capture_default_str();
  command.add_option("--device", common.device, "Which device of the backend");
}

namespace {

// One line, like every other error, and with the help of the command that was meant.
int report_usage(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  std::string message = error.what();
  const std::string word = argc > 1 ? argv[1] : "";
  // CLI11 only says that a command is required, not that this one is none.
  const auto named_so = [&](const CLI::App* command) { return command->get_name() == word; };
  const bool is_command = !app.get_subcommands(named_so).empty();
  if (!word.empty() && !is_command) {
    message =
        fmt::format("There is no {} `{}`", word.starts_with('-') ? "option" : "command", word);
  }
  fmt::print(stderr, "felsite: {}. Fix: see felsite{} --help.\n", message,
             is_command ? " " + word : "");
  return kUsage;
}

std::string footer() {
  std::string text =
      "Exit codes: 0 ok, 1 the program or its input is at fault, 2 usage, 3 device or driver.\n\n"
      "Environment:\n";
  for (const EnvironmentVariable& variable : environment_variables()) {
    text += fmt::format("  {}={}\n      {}.\n", variable.name, variable.takes, variable.about);
  }
  text.pop_back();
  return text;
}

// A full disk shows only when the buffer is written out, and a lost result is no success.
int finish_output(int code) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr,
             "felsite: Cannot write standard output: {}. Fix: write to a place with room.\n",
             std::strerror(errno != 0 ? errno : EIO));
  return code == kOk ? kProgramAtFault : code;
}

}  // namespace
}  // namespace felsite::tool

int main(int argc, char** argv) {
  using namespace felsite::tool;
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow is an error like a full disk
  CLI::App app(
      "A portable GPU-compute runtime: one kernel language, the same bits on every device.",
      "felsite");
  app.set_version_flag("--version", "felsite " FELSITE_VERSION);
  app.require_subcommand(1);
  app.footer(footer());
  CommonOptions common;
  Action action;
  add_devices(app, common, action);
  add_check(app, common, action);
  add_run(app, common, action);
  add_explain(app, common, action);
  add_trace(app, common, action);
  add_spirv(app, common, action);
  add_fmt(app, common, action);
  add_bench(app, common, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and the version come this way too.
    if (error.get_exit_code() != 0) return report_usage(app, error, argc, argv);
    return finish_output(app.exit(error));
  }
  try {
    return finish_output(action());
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return finish_output(kOk);
    // The library reports errors as values; what is thrown here is the host running out of
    // something.
    fmt::print(stderr, "felsite: {}\n", error.what());
    return kDeviceAtFault;
  }
}
