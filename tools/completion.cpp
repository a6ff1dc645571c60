// felsite completion: scripts with which shells complete the tool's command line.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "command_help.h"
#include "commands.h"
#include "output.h"

namespace felsite::tool {
namespace {

std::vector<std::string> names_of(const OptionHelp& option) {
  std::vector<std::string> names = option.short_names;
  names.insert(names.end(), option.long_names.begin(), option.long_names.end());
  return names;
}

std::string words_of(std::span<const OptionHelp> options) {
  std::vector<std::string> words;
  for (const OptionHelp& option : options) {
    for (const std::string& name : names_of(option)) words.push_back(name);
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// Escapes text for single quotes of a shell.
std::string shell_quoted(std::string_view text, std::string_view to_escape = {}) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (to_escape.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result + "'";
}

std::string in_bash(std::span<const CommandHelp> commands, const CommandHelp& tool) {
  std::vector<std::string> names;
  std::string values;
  std::string words;
  for (const CommandHelp& command : commands) {
    names.push_back(command.name);
    for (const OptionHelp& option : command.options) {
      if (option.takes.empty()) continue;
      std::string how = ":";  // nothing to suggest
      if (const auto choices = option.choices(); !choices.empty()) {
        how =
            fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$current\"))", fmt::join(choices, " "));
      } else if (option.takes_file()) {
        how = "COMPREPLY=($(compgen -f -- \"$current\"))";
      }
      std::vector<std::string> patterns;
      for (const std::string& name : names_of(option)) {
        patterns.push_back(command.name + ":" + name);
      }
      values += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, " | "), how);
    }
    std::string argument = "compgen -f -- \"$current\"";
    if (command.arguments.empty()) argument = ":";
    for (const OptionHelp& one : command.arguments) {
      if (const auto choices = one.choices(); !choices.empty()) {
        argument = fmt::format("compgen -W '{}' -- \"$current\"", fmt::join(choices, " "));
      }
    }
    words += fmt::format("    {}) options='{}'; arguments=$({}) ;;\n", command.name,
                         words_of(command.options), argument);
  }
  return fmt::format(R"(# bash completion for felsite, made by `felsite completion bash`
_felsite() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command= options= arguments= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${{COMP_WORDS[i]}} in
      {}) command=${{COMP_WORDS[i]}}; break ;;
    esac
  done
  COMPREPLY=()
  case $command:$previous in
{}  esac
  case $command in
    '') options='{}'; arguments=$(compgen -W '{}' -- "$current") ;;
{}  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  else
    local IFS=$'\n'
    COMPREPLY=($arguments)
  fi
}}
complete -o filenames -F _felsite felsite
)",
                     fmt::join(names, " | "), values, words_of(tool.options), fmt::join(names, " "),
                     words);
}

// 'spec[about]:what:(a b)', as _arguments takes it.
std::string zsh_value(const OptionHelp& option) {
  if (option.takes.empty()) return {};
  std::string how;
  if (const auto choices = option.choices(); !choices.empty()) {
    how = fmt::format("({})", fmt::join(choices, " "));
  } else if (option.takes_file()) {
    how = "_files";
  }
  std::string what;
  for (const char c : option.takes) what += c == ':' ? ' ' : c;
  return fmt::format(":{}:{}", what, how);
}

std::string in_zsh(std::span<const CommandHelp> commands, const CommandHelp& tool) {
  std::string list;
  std::string cases;
  for (const CommandHelp& command : commands) {
    list += fmt::format("    {}\n", shell_quoted(command.name + ":" + command.about));
    cases += fmt::format("    {})\n      _arguments", command.name);
    for (const OptionHelp& option : command.options) {
      for (const std::string& name : names_of(option)) {
        std::string about = shell_quoted(option.about, "[]:\\");
        about = about.substr(1, about.size() - 2);
        cases += fmt::format(" \\\n        '{}{}[{}]{}'", option.repeats ? "*" : "", name, about,
                             zsh_value(option));
      }
    }
    for (const OptionHelp& argument : command.arguments) {
      const auto choices = argument.choices();
      cases += choices.empty()
                   ? " \\\n        '*:file:_files'"
                   : fmt::format(" \\\n        '1:choice:({})'", fmt::join(choices, " "));
    }
    cases += "\n      ;;\n";
  }
  return fmt::format(R"(#compdef felsite
# zsh completion for felsite, made by `felsite completion zsh`
_felsite() {{
  local -a commands=(
{})
  if (( CURRENT == 2 )); then
    _describe command commands
    compadd -- {}
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_felsite "$@"
)",
                     list, words_of(tool.options), cases);
}

std::string in_fish(std::span<const CommandHelp> commands, const CommandHelp& tool) {
  std::string text = "# fish completion for felsite, made by `felsite completion fish`\n";
  const auto add = [&](std::string_view when, const OptionHelp& option) {
    text += fmt::format("complete -c felsite -n '{}'", when);
    for (const std::string& name : option.short_names) text += " -s " + name.substr(1);
    for (const std::string& name : option.long_names) text += " -l " + name.substr(2);
    if (const auto choices = option.choices(); !choices.empty()) {
      text += fmt::format(" -x -a '{}'", fmt::join(choices, " "));
    } else if (!option.takes.empty()) {
      text += option.takes_file() ? " -r -F" : " -x";
    }
    text += fmt::format(" -d {}\n", shell_quoted(option.about, "\\"));
  };
  for (const OptionHelp& option : tool.options) add("__fish_use_subcommand", option);
  for (const CommandHelp& command : commands) {
    text += fmt::format("complete -c felsite -n '__fish_use_subcommand' -f -a {} -d {}\n",
                        command.name, shell_quoted(command.about, "\\"));
    const std::string when = "__fish_seen_subcommand_from " + command.name;
    for (const OptionHelp& option : command.options) add(when, option);
    for (const OptionHelp& argument : command.arguments) {
      if (const auto choices = argument.choices(); !choices.empty()) {
        text +=
            fmt::format("complete -c felsite -n '{}' -f -a '{}'\n", when, fmt::join(choices, " "));
      }
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const CLI::App& tool, std::string_view shell) {
  const std::vector<CommandHelp> commands = describe_commands(tool);
  const CommandHelp root = describe_command(tool);
  if (shell == "zsh") return in_zsh(commands, root);
  return shell == "fish" ? in_fish(commands, root) : in_bash(commands, root);
}

void add_completion(CLI::App& app, CommonOptions&, Action& action) {
  CLI::App* command =
      app.add_subcommand("completion", "Print the script that lets a shell complete this tool");
  static std::string shell;
  command->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->type_name("bash|zsh|fish")
      ->check(one_of({"bash", "zsh", "fish"}));
  command->callback([&] {
    action = [&] {
      write_out(completion_script(app, shell));
      return int{kOk};
    };
  });
}

}  // namespace felsite::tool
