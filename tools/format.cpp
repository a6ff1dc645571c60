// felsite fmt: the canonical form of programs.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "command_help.h"
#include "commands.h"
#include "felsite/text.h"
#include "files.h"
#include "many_files.h"
#include "output.h"
#include "report.h"

namespace felsite::tool {
namespace {

struct FormatArguments {
  std::vector<std::string> paths;
  bool write = false;
  bool only_check = false;
};

// Formats in place or to standard output, or only checks whether something would change.
FileOutcome format_one(const std::string& path, const FormatArguments& args, bool json) {
  const auto text = read_file(path);
  if (!text) return failed(path, text.error(), json);
  const auto formatted = ir::format(*text);
  if (!formatted) return found(path, *text, formatted.error(), json);
  const bool is_formatted = *formatted == *text;
  FileOutcome outcome{kOk, {{"file", path}, {"formatted", is_formatted}}};
  if (args.only_check) {
    if (!is_formatted && !json) print_out("{} is not formatted\n", shown_path(path));
    outcome.code = is_formatted ? kOk : kProgramAtFault;
    return outcome;
  }
  const bool in_place = args.write && path != "-";
  if (in_place && is_formatted) return outcome;
  if (json && !in_place) {
    outcome.row["text"] = *formatted;
    return outcome;
  }
  std::error_code ignored;
  if (in_place && !std::filesystem::is_regular_file(path, ignored)) {
    return failed(
        path,
        base::bad_inputs(fmt::format("`{}` is not a plain file that could be replaced.", path),
                         "leave out --write: the text then goes to standard output."),
        json);
  }
  const auto written = write_file(in_place ? path : "-", *formatted);
  return written ? outcome : failed(path, written.error(), json);
}

}  // namespace

void add_fmt(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command =
      app.add_subcommand("fmt", "Print programs in canonical form, comments and blank lines kept");
  static FormatArguments args;
  add_files(*command, args.paths);
  command->add_flag("-w,--write", args.write, "Change the files in place")->group(kMaxUsed);
  command
      ->add_flag("--check", args.only_check,
                 "Only tell, by exit code 1, that a file is not formatted")
      ->group(kMaxUsed);
  add_common(*command, common);
  command->callback([&] {
    action = [&] {
      return for_each_file(args.paths, common.json, [&](const std::string& path) {
        return format_one(path, args, common.json);
      });
    };
  });
}

}  // namespace felsite::tool
