#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/words.h"
#include "commands.h"
#include "felsite/printable.h"
#include "felsite/text.h"
#include "files.h"
#include "many_files.h"
#include "output.h"
#include "report.h"

namespace felsite::tool {
namespace {

FileOutcome check_one(const std::string& path, bool json) {
  const auto text = read_file(path);
  if (!text) return failed(path, text.error(), json);
  const auto program = validated(*text);
  if (!program) return found(path, *text, program.error(), json);
  if (json) {
    return {kOk,
            {{"file", path},
             {"findings", nlohmann::json::array()},
             {"program", program->name()},
             {"fingerprint", to_string(program->fingerprint())},
             {"nodes", program->nodes().size()},
             {"expressions", program->exprs().size()}}};
  }
  print_out("{}: ok, {}, {}, fingerprint {}\n", printable(program->name()),
            base::counted(program->nodes().size(), "node"),
            base::counted(program->exprs().size(), "expression"),
            to_string(program->fingerprint()));
  return {kOk, {}};
}

}  // namespace

void add_check(CLI::App& app, CommonOptions& common, Action& action) {
  CLI::App* command =
      app.add_subcommand("check", "Parse and validate programs, and list all findings");
  static std::vector<std::string> paths;
  add_files(*command, paths);
  add_common(*command, common);
  command->callback([&] {
    action = [&] {
      return for_each_file(paths, common.json,
                           [&](const std::string& path) { return check_one(path, common.json); });
    };
  });
}

}  // namespace felsite::tool
