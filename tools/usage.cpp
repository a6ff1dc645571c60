#include "usage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// The option that a message of CLI11 names: the longest match, as other names may be part of it.
const CLI::Option* named_option(const CLI::App& command, const std::string& message) {
  const CLI::Option* found = nullptr;
  std::size_t longest = 0;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (name.size() <= longest || message.find(name) == std::string::npos) continue;
    found = option;
    longest = name.size();
  }
  return found;
}

std::string has_no_value(const CLI::Option& option) {
  return fmt::format("{} has no value: it takes {}", option.get_name(), option.get_type_name());
}

std::string is_flag(const CLI::Option& option, std::string_view value) {
  return fmt::format("{} is there or not, and has no value `{}`", option.get_name(), value);
}

}  // namespace

std::string sentence_of(const CLI::App& command, const CLI::Error& error) {
  const std::string message = error.what();
  const CLI::Option* const option = named_option(command, message);
  if (option == nullptr) return message;
  const std::string name = option->get_name();
  const bool takes_none = option->get_items_expected_max() == 0;
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr) {
    for (const CLI::Option* other : option->get_excludes()) {
      return fmt::format("{} and {} do not go together", name, other->get_name());
    }
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    const std::string value = fmt::format("{}", fmt::join(option->results(), " "));
    return takes_none ? is_flag(*option, value)
                      : fmt::format("{}: `{}` is not {}", name, value, option->get_type_name());
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    const std::size_t times = option->results().size();
    return times > 1 ? fmt::format("{} is given {} times", name, times) : has_no_value(*option);
  }
  return message;
}

std::string wrong_value(const CLI::App& command, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size() && words[i] != "--"; ++i) {
    if (!words[i].starts_with('-')) continue;
    const std::size_t equals = words[i].find('=');
    const CLI::Option* const option = command.get_option_no_throw(words[i].substr(0, equals));
    if (option == nullptr) continue;
    if (option->get_items_expected_max() == 0) {
      if (equals != std::string::npos) return is_flag(*option, words[i].substr(equals + 1));
      continue;
    }
    if (equals == std::string::npos) {
      ++i;  // skips its value
    } else if (equals + 1 == words[i].size() && words[i].starts_with("--")) {
      return has_no_value(*option);
    }
  }
  return {};
}

Usage explain_options(const CLI::App& command, const CLI::Error& error) {
  const std::string name = (command.get_parent() == nullptr ? "" : "felsite ") + command.get_name();
  Usage usage{.message = sentence_of(command, error), .fix = fmt::format("see {} --help.", name)};
  // CLI11 reports what is missing before it reports what it does not know.
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

Usage explain_usage(const CLI::App& app, const CLI::Error& error, const std::string& first) {
  const auto commands = app.get_subcommands();
  if (commands.empty()) {
    Usage usage{.message = "A command is required", .fix = "see felsite --help."};
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
  if (const auto before = app.remaining(); !before.empty()) {
    return {.message = fmt::format("`{}` stands before the command", before.front()),
            .fix = fmt::format("write options behind `{}`.", command.get_name())};
  }
  return explain_options(command, error);
}

bool wants_json(int argc, char** argv) {
  // --json takes a file there.
  if (argc > 1 && std::string_view(argv[1]) == "bench") return false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--") return false;
    if (word == "--json") return true;
  }
  return false;
}

}  // namespace felsite::tool
