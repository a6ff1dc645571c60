// felsite: list devices; check, run, explain, trace, lower, format and measure programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <exception>
#include <new>

#include "command_help.h"
#include "commands.h"
#include "felsite/environment.h"
#include "output.h"
#include "report.h"
#include "usage.h"

namespace felsite::tool {

void add_common(CLI::App& command, CommonOptions& common) {
  command.add_flag("--json", common.json, "Print results and errors as JSON");
  command.add_option("--backend", common.backend, "Which backend runs the program")
      ->type_name("auto|vulkan|reference")
      ->capture_default_str();
  command
      .add_option("--device", common.device,
                  "Which device of the backend: its position, part of its name, or its UUID")
      ->type_name("NAME");
}

std::function<std::string(const std::string&)> one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& word) {
    if (std::ranges::find(words, word) != words.end()) return std::string();
    return fmt::format("`{}` is none of {}", word, fmt::join(words, ", "));
  };
}

namespace {

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

// The command that was chosen, or the tool itself.
const CLI::App& chosen(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? app : *commands.front();
}

int run(int argc, char** argv, bool json) {
  CLI::App app("A portable GPU-compute runtime: one kernel language, the same bits on every device",
               "felsite");
  app.set_version_flag("--version", "felsite " FELSITE_VERSION);
  app.set_help_flag("-h", "Say in short what is used most");
  app.set_help_all_flag("--help", "Say all, with examples");
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
  add_completion(app, common, action);
  add_man(app, common, action);
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (argc < 2 || command->get_name() != argv[1]) continue;
    const std::string message = wrong_value(*command, {argv + 2, argv + argc});
    if (!message.empty()) {
      return report_usage(message, fmt::format("see felsite {} --help.", argv[1]), json);
    }
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    write_out(short_help(chosen(app)));
    return kOk;
  } catch (const CLI::CallForAllHelp&) {
    write_out(long_help(chosen(app)));
    return kOk;
  } catch (const CLI::CallForVersion& version) {
    print_out("{}\n", version.what());
    return kOk;
  } catch (const CLI::ParseError& error) {
    const Usage wrong = explain_usage(app, error, argc > 1 ? argv[1] : "");
    return report_usage(wrong.message, wrong.fix, json);
  }
  return action();
}

// The library reports errors as values; exceptions mean that the host ran out of something. There
// may be no memory to report even that.
int report_exception(ErrorCode code, const char* message, const char* fix, bool json) {
  try {
    return report({.code = code, .message = message, .fix = fix, .context = {}}, json);
  } catch (...) {
    write_err("felsite: Something failed, and there is no memory to say what.\n");
    return kDeviceAtFault;
  }
}

}  // namespace
}  // namespace felsite::tool

int main(int argc, char** argv) {
  using namespace felsite::tool;
  using felsite::ErrorCode;
  open_missing_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that must not grow is an error like a full disk
  const bool json = wants_json(argc, argv);
  int code = kDeviceAtFault;
  try {
    code = run(argc, argv, json);
  } catch (const std::bad_alloc&) {
    code = report_exception(ErrorCode::DeviceOutOfMemory, "This machine's memory does not suffice.",
                            "use smaller inputs, or a machine with more memory.", json);
  } catch (const std::exception& error) {
    if (std::ferror(stdout) != 0) return finish_output(kOk);
    code = report_exception(ErrorCode::Unknown, error.what(), "report this with its input.", json);
  } catch (...) {
    code = report_exception(ErrorCode::Unknown, "Something was thrown that is no exception.",
                            "report this with its input.", json);
  }
  return finish_output(code);
}
