#include "many_files.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "commands.h"
#include "output.h"
#include "report.h"

namespace felsite::tool {

void add_files(CLI::App& command, std::vector<std::string>& paths) {
  command.add_option("FILE", paths, "One or more .fels files; - is standard input")
      ->required()
      ->type_name("FILE");
}

FileOutcome failed(const std::string& path, const Error& error, bool json) {
  if (!json) report(error, json);
  return {exit_code(error), {{"file", path}, {"error", to_json(error)}}};
}

FileOutcome found(const std::string& path, std::string_view text, const ir::Findings& findings,
                  bool json) {
  if (!json) show_findings(findings, path, text, json);
  return {kProgramAtFault, {{"file", path}, {"findings", to_json(findings)}}};
}

int for_each_file(const std::vector<std::string>& paths, bool json,
                  const std::function<FileOutcome(const std::string&)>& act) {
  if (std::ranges::count(paths, "-") > 1) {
    return report_usage("standard input can be read once", "name `-` once.", json);
  }
  int worst = kOk;
  nlohmann::json rows = nlohmann::json::array();
  for (const std::string& path : paths) {
    FileOutcome outcome = act(path);
    worst = std::max(worst, outcome.code);
    if (json) rows.push_back(std::move(outcome.row));
  }
  if (json) print_out("{}\n", json_text(paths.size() == 1 ? rows[0] : rows));
  return worst;
}

}  // namespace felsite::tool
