// felsite trace: runs a program, and records when each part ran on the host and on the device.
#include "felsite/trace.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "command_help.h"
#include "commands.h"
#include "felsite/printable.h"
#include "files.h"
#include "output.h"
#include "report.h"
#include "run_steps.h"

namespace felsite::tool {
namespace {

struct TraceArguments {
  RunArguments run;
  std::string to = "-";
};

// Conflicts between the trace and other outputs: on standard output, in the same file, or with a
// file that the trace would replace.
Refusal conflict(const TraceArguments& args, const Styles& wanted, bool json) {
  if (args.to != "-") {
    const std::vector<std::string> files = output_files(args.run);
    if (std::ranges::find(files, whole_path(args.to)) == files.end()) {
      return replacement_by(args.to, "the trace", "--to", args.run);
    }
    return {"the trace and an output cannot both go to one file", "name another file for --to."};
  }
  constexpr const char* kFix = "add --to FILE.";
  if (json) return {"the trace and --json cannot both go to standard output", kFix};
  const bool raw = std::ranges::any_of(wanted, [](const auto& one) { return one.second == "@-"; });
  if (!raw) return {};
  return {"the trace and an output cannot both go to standard output", kFix};
}

int trace(CLI::App& command, const TraceArguments& args, const CommonOptions& common) {
  const bool to_stdout = args.to == "-";
  const auto ready = prepare_run(command, args.run, common);
  if (!ready) return ready.error();
  const auto [message, fix] = conflict(args, ready->wanted, common.json);
  if (!message.empty()) return report_usage(message, fix, common.json);
  start_trace();
  const auto ran = execute_run(*ready, args.run, common);
  const std::string text = stop_trace() + "\n";
  if (!ran) return ran.error();

  const auto written = write_file(args.to, text);
  if (!written) return report(written.error(), common.json);
  const auto shown = to_stdout
                         ? write_outputs(ready->program, *ran, ready->wanted, args.run)
                         : show_outputs(ready->program, *ran, ready->wanted, args.run, common.json);
  if (!shown) return report(shown.error(), common.json);
  print_err("trace: {}open it in ui.perfetto.dev or in chrome://tracing\n",
            to_stdout ? "" : fmt::format("written to {}; ", printable(args.to)));
  return kOk;
}

}  // namespace

void add_trace(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command =
      app.add_subcommand("trace", "Run a program, and write what ran when, for a trace viewer");
  static TraceArguments args;
  add_run_arguments(app, *command, args.run, common);
  command->add_option("--to", args.to, "Where the trace goes; - is standard output")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(kMaxUsed)
      ->transform(CLI::Validator(take_written_path, ""));
  command->callback(
      [&, command] { action = [&, command] { return trace(*command, args, common); }; });
}

}  // namespace felsite::tool
