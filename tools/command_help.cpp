#include "command_help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <sstream>

namespace felsite::tool {
namespace {

constexpr std::size_t kHelpColumns = 100;

constexpr std::array kExamples{
    ExampleHelp{"", "run samples/saxpy.fels --marked",
                "Run a sample with the options that it names"},
    ExampleHelp{"", "check samples/saxpy.fels", "See whether a program is right"},
    ExampleHelp{"", "explain samples/prefix_scan.fels --marked", "See how a program would run"},
    ExampleHelp{"devices", "devices", "What there is, and which one would be taken"},
    ExampleHelp{"devices", "devices --device 0", "How the first one would be opened"},
    ExampleHelp{"check", "check samples/saxpy.fels samples/histogram.fels", "Check several files"},
    ExampleHelp{"check", "check --json samples/saxpy.fels", "The same for another program to read"},
    ExampleHelp{"run", "run samples/saxpy.fels -i a=2 -i x=iota:4 -i y=10,20,30,40",
                "Give each input, and print the results"},
    ExampleHelp{"run", "run samples/saxpy.fels --marked --check",
                "Run a sample on the device, and compare it with the reference"},
    ExampleHelp{"run", "run samples/saxpy.fels --marked -o y=hex --backend reference",
                "Show the bits of one result, without a device"},
    ExampleHelp{"run",
                "run samples/reachability.fels -i source=0,1 -i target=1,2 -i reach=1,2,4 "
                "--fixpoint 9 --require-convergence",
                "Repeat until nothing changes, and fail if that does not come about"},
    ExampleHelp{"explain", "explain samples/prefix_scan.fels --marked",
                "Segments, barriers and bytes of a program with grid barriers"},
    ExampleHelp{"explain", "explain samples/prefix_scan.fels --html /tmp/page.html",
                "The same as a page; sizes that are not known become formulas"},
    ExampleHelp{"trace", "trace samples/matrix_multiply.fels --marked --to /tmp/trace.json",
                "What ran when, for a trace viewer"},
    ExampleHelp{"spirv", "spirv samples/saxpy.fels", "The kernel as assembly"},
    ExampleHelp{"spirv", "spirv samples/saxpy.fels --binary -o /tmp/saxpy.spv --mask none,int64",
                "For a device with 64-bit integers and nothing else"},
    ExampleHelp{"spirv", "spirv samples/prefix_scan.fels --marked --grid-sync resident --kernel 1",
                "The second kernel of a program with grid barriers"},
    ExampleHelp{"fmt", "fmt samples/saxpy.fels", "Print the canonical form"},
    ExampleHelp{"fmt", "fmt --check samples/saxpy.fels samples/histogram.fels",
                "Exit code 1 if one of them is not formatted"},
    ExampleHelp{"completion", "completion bash", "Print the script for bash"},
    ExampleHelp{"man", "man", "Print the manual page"},
};

// Wraps words into lines indented by `indent` blanks; the first line begins with `line`.
std::string wrapped(std::string line, std::size_t indent, std::string_view text) {
  std::string result;
  line.resize(std::max(line.size(), indent), ' ');
  bool is_empty = true;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (!is_empty && line.size() + 1 + word.size() > kHelpColumns) {
      result += line + "\n";
      line.assign(indent, ' ');
      is_empty = true;
    }
    if (!is_empty) line += ' ';
    line += word;
    is_empty = false;
  }
  return result + line + "\n";
}

std::string about_option(const OptionHelp& option) {
  const std::string standard =
      option.standard.empty() ? std::string() : fmt::format(" [{}]", option.standard);
  return option.about + standard;
}

std::string option_lines(std::span<const OptionHelp> options) {
  constexpr std::size_t kIndent = 26;
  std::string text;
  for (const OptionHelp& option : options) {
    std::string title = "  " + option.title();
    if (title.size() + 2 > kIndent) {
      text += title + "\n";
      title.clear();
    }
    text += wrapped(std::move(title), kIndent, about_option(option));
  }
  return text;
}

std::string command_lines(const CLI::App& tool) {
  std::string text;
  for (const CommandHelp& command : describe_commands(tool)) {
    text += wrapped("  " + command.name, 14, command.about);
  }
  return text;
}

std::string example_lines(const CommandHelp& command) {
  std::string text;
  for (const ExampleHelp& example : command.examples) {
    text += fmt::format("  felsite {}\n      {}\n", example.line, example.about);
  }
  return text;
}

OptionHelp option_help(const CLI::Option& option) {
  OptionHelp help{.short_names = {},
                  .long_names = {},
                  .takes = {},
                  .about = option.get_description(),
                  .standard = option.get_default_str(),
                  .most_used = option.get_group() == kMaxUsed,
                  .required = option.get_required(),
                  .repeats = option.get_items_expected_max() > 1};
  for (const std::string& name : option.get_snames()) help.short_names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) help.long_names.push_back("--" + name);
  if (!option.nonpositional()) help.long_names = {option.get_name(true, false)};
  if (option.get_items_expected_max() > 0) help.takes = option.get_type_name();
  return help;
}

}  // namespace

std::string OptionHelp::title() const {
  std::vector<std::string> names = short_names;
  names.insert(names.end(), long_names.begin(), long_names.end());
  const bool is_argument = !long_names.empty() && !long_names[0].starts_with('-');
  return fmt::format("{}{}{}", fmt::join(names, ", "), takes.empty() || is_argument ? "" : " ",
                     is_argument ? "" : takes);
}

std::vector<std::string> OptionHelp::choices() const {
  std::vector<std::string> result;
  if (takes.find('|') == std::string::npos) return result;
  std::istringstream words(takes);
  for (std::string word; std::getline(words, word, '|');) {
    const std::size_t colon = word.find(':');  // flag:BUFFER is completed up to the colon
    result.push_back(colon == std::string::npos ? word : word.substr(0, colon + 1));
  }
  return result;
}

bool OptionHelp::takes_file() const { return takes == "FILE"; }

std::string CommandHelp::usage() const {
  if (name.empty()) return "felsite COMMAND [FILE] [OPTIONS]";
  std::string text = "felsite " + name;
  for (const OptionHelp& argument : arguments) {
    text += fmt::format(" {}{}", argument.title(), argument.repeats ? "..." : "");
  }
  return options.empty() ? text : text + " [OPTIONS]";
}

CommandHelp describe_command(const CLI::App& command) {
  CommandHelp help{.name = command.get_parent() == nullptr ? std::string() : command.get_name(),
                   .about = command.get_description(),
                   .arguments = {},
                   .options = {},
                   .examples = {},
                   .notes = command.get_footer()};
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->nonpositional() ? help.options : help.arguments).push_back(option_help(*option));
  }
  for (const ExampleHelp& example : kExamples) {
    if (example.command == help.name) help.examples.push_back(example);
  }
  return help;
}

std::vector<CommandHelp> describe_commands(const CLI::App& tool) {
  std::vector<CommandHelp> commands;
  for (const CLI::App* command : tool.get_subcommands([](const CLI::App*) { return true; })) {
    if (!command->get_group().empty()) commands.push_back(describe_command(*command));
  }
  return commands;
}

std::string short_help(const CLI::App& command) {
  const CommandHelp help = describe_command(command);
  std::string text = fmt::format("Usage: {}\n{}.\n\n", help.usage(), help.about);
  if (help.name.empty()) {
    return text + command_lines(command) +
           "\n`felsite COMMAND -h` has the options of one that are used most, and\n"
           "`felsite --help` examples, exit codes and the environment.\n";
  }
  std::vector<OptionHelp> shown = help.arguments;
  const bool has_choice = std::ranges::any_of(help.options, &OptionHelp::most_used);
  for (const OptionHelp& option : help.options) {
    if (option.most_used || !has_choice) shown.push_back(option);
  }
  return text + option_lines(shown) +
         fmt::format("\n`felsite {} --help` has all options, and examples.\n", help.name);
}

std::string long_help(const CLI::App& command) {
  const CommandHelp help = describe_command(command);
  std::string text = fmt::format("{}.\n\nUsage: {}\n\n", help.about, help.usage());
  if (help.name.empty()) text += "Commands:\n" + command_lines(command) + "\n";
  text += option_lines(help.arguments);
  std::vector<OptionHelp> most_used;
  std::vector<OptionHelp> others;
  for (const OptionHelp& option : help.options) {
    (option.most_used ? most_used : others).push_back(option);
  }
  if (!most_used.empty()) text += "\nOptions that are used most:\n" + option_lines(most_used);
  if (!others.empty()) {
    text += fmt::format("\n{}:\n{}", most_used.empty() ? "Options" : "Further options",
                        option_lines(others));
  }
  if (!help.examples.empty()) text += "\nExamples:\n" + example_lines(help);
  if (!help.notes.empty()) text += "\n" + help.notes + "\n";
  return text;
}

}  // namespace felsite::tool
