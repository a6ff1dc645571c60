#include "usage.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>
#include <vector>

#include "command_help.h"
#include "felsite/spelling.h"

namespace felsite::tool {
namespace {

// "There is no option `--grdi`. Did you mean `--grid`?", without the last full stop.
std::string unknown(std::string_view what, std::string_view word,
                    const std::vector<std::string>& known) {
  const std::vector<std::string_view> candidates(known.begin(), known.end());
  const std::string hint = did_you_mean(word, candidates);
  return fmt::format("There is no {} `{}`{}{}", what, word, hint.empty() ? "" : ".", hint);
}

std::vector<std::string> option_names(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const OptionHelp& option : command.options) {
    names.insert(names.end(), option.long_names.begin(), option.long_names.end());
    names.insert(names.end(), option.short_names.begin(), option.short_names.end());
  }
  return names;
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  return unknown("option", word.substr(0, word.find('=')), option_names(describe_command(command)));
}

}  // namespace

Usage explain_usage(const CLI::App& app, const CLI::Error& error, const std::string& first) {
  const auto commands = app.get_subcommands();
  if (commands.empty()) {
    Usage usage{.message = error.what(), .fix = "see felsite --help."};
    if (first.starts_with('-')) {
      usage.message = unknown_option(app, first);
    } else if (!first.empty()) {
      std::vector<std::string> names;
      for (const CommandHelp& command : describe_commands(app)) names.push_back(command.name);
      usage.message = unknown("command", first, names);
    }
    return usage;
  }
  const CLI::App& command = *commands.front();
  Usage usage{.message = error.what(),
              .fix = fmt::format("see felsite {} --help.", command.get_name())};
  if (const auto before = app.remaining(); !before.empty()) {
    return {.message = fmt::format("`{}` stands before the command", before.front()),
            .fix = fmt::format("write options behind `{}`.", command.get_name())};
  }
  // CLI11 looks for what is missing before it looks at what it does not know.
  const std::vector<std::string> extras = command.remaining();
  const auto option = std::ranges::find_if(
      extras, [](const std::string& word) { return word.starts_with('-') && word != "-"; });
  if (option != extras.end()) {
    usage.message = unknown_option(command, *option);
  } else if (!extras.empty()) {
    usage.message = fmt::format("`{}` is one argument too many", extras.front());
  }
  return usage;
}

bool wants_json(int argc, char** argv) {
  // There --json takes a file.
  if (argc > 1 && std::string_view(argv[1]) == "bench") return false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return false;
    if (word == "--json" || word == "--json=true") return true;
  }
  return false;
}

}  // namespace felsite::tool
