// What the tool knows about its commands, read from the tree of CLI11: the one source of the help,
// the completions and the manual page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace felsite::tool {

// Options of this group are those that the short help shows.
inline constexpr const char* kMaxUsed = "Most used";

struct OptionHelp {
  std::vector<std::string> short_names;  // "-i"
  std::vector<std::string> long_names;   // "--input"; for an argument its name, without dashes
  std::string takes;                     // "NAME=FORM", "auto|none"; empty: nothing
  std::string about;
  std::string standard;  // its default; may be empty
  bool most_used = false;
  bool required = false;
  bool repeats = false;

  // "-i, --input NAME=FORM"
  std::string title() const;
  // The possible values, if there are few.
  std::vector<std::string> choices() const;
  bool takes_file() const;
};

struct ExampleHelp {
  std::string_view command;
  std::string_view line;  // after "felsite "
  std::string_view about;
};

struct CommandHelp {
  std::string name;  // empty for the tool itself
  std::string about;
  std::vector<OptionHelp> arguments;
  std::vector<OptionHelp> options;
  std::vector<ExampleHelp> examples;
  std::string notes;  // separate paragraphs, already wrapped
  std::string usage() const;
};

CommandHelp describe_command(const CLI::App& command);
// The commands of the tool, without hidden ones.
std::vector<CommandHelp> describe_commands(const CLI::App& tool);

// The usage with the options that are used most, and the whole help.
std::string short_help(const CLI::App& command);
std::string long_help(const CLI::App& command);

// For `felsite completion SHELL`: bash, zsh or fish.
std::string completion_script(const CLI::App& tool, std::string_view shell);
// For `felsite man`: a page in roff.
std::string manual_page(const CLI::App& tool);

}  // namespace felsite::tool
