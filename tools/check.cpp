#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "felsite/text.h"
#include "files.h"

namespace felsite::tool {
namespace {

int check(const std::string& path, bool json) {
  const auto program = load_program(path, json);
  if (!program) return report(program.error(), json);
  if (json) {
    const nlohmann::json body{{"file", path},
                              {"findings", nlohmann::json::array()},
                              {"program", program->name()},
                              {"fingerprint", to_string(program->fingerprint())},
                              {"nodes", program->nodes().size()},
                              {"expressions", program->exprs().size()}};
    fmt::print("{}\n", body.dump(2));
  } else {
    fmt::print("{}: ok, {} nodes, {} expressions, fingerprint {}\n", program->name(),
               program->nodes().size(), program->exprs().size(), to_string(program->fingerprint()));
  }
  return kOk;
}

// Formats in place, to standard output, or only says whether something would change.
int format_file(const std::string& path, bool write, bool only_check, bool json) {
  const auto text = read_file(path);
  if (!text) return report(text.error(), json);
  const auto formatted = ir::format(*text);
  if (!formatted) {
    show_findings(formatted.error(), path == "-" ? "standard input" : path, *text, json);
    return kProgramAtFault;
  }
  if (only_check) {
    if (*formatted == *text) return kOk;
    fmt::print("{} is not formatted\n", path);
    return kProgramAtFault;
  }
  if (write && path != "-" && *formatted == *text) return kOk;
  const auto written = write_file(write ? path : "-", *formatted);
  return written ? kOk : report(written.error(), json);
}

}  // namespace

void add_check(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command =
      app.add_subcommand("check", "Parse and validate a program, and list all findings");
  static std::string path;
  command->add_option("FILE", path, "A .fels file; - is standard input")->required();
  add_common(*command, common);
  command->callback([&] { action = [&] { return check(path, common.json); }; });
}

void add_fmt(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command =
      app.add_subcommand("fmt", "Print a program in canonical form, comments and blank lines kept");
  static std::string path;
  static bool write = false;
  static bool only_check = false;
  command->add_option("FILE", path, "A .fels file; - is standard input")->required();
  command->add_flag("-w,--write", write, "Change the file in place");
  command->add_flag("--check", only_check,
                    "Only tell, by exit code 1, that the file is not formatted");
  add_common(*command, common);
  command->callback(
      [&] { action = [&] { return format_file(path, write, only_check, common.json); }; });
}

}  // namespace felsite::tool
