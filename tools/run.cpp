#include <CLI/CLI.hpp>

#include "commands.h"
#include "report.h"
#include "run_steps.h"

namespace felsite::tool {
namespace {

int run(CLI::App& command, const RunArguments& args, const CommonOptions& common) {
  const auto ready = prepare_run(command, args, common);
  if (!ready) return ready.error();
  const auto ran = execute_run(*ready, args, common);
  if (!ran) return ran.error();
  const auto shown = show_outputs(ready->program, *ran, ready->wanted, args, common.json);
  return shown ? int{kOk} : report(shown.error(), common.json);
}

}  // namespace

void add_run(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command = app.add_subcommand("run", "Run a program and print its results");
  static RunArguments args;
  add_run_arguments(app, *command, args, common);
  command->callback(
      [&, command] { action = [&, command] { return run(*command, args, common); }; });
}

}  // namespace felsite::tool
