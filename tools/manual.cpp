// felsite man: prints the manual page in roff.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <sstream>

#include "command_help.h"
#include "commands.h"
#include "output.h"

namespace felsite::tool {
namespace {

// Escapes text, so that roff takes no word of it for a request or an escape.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

void add_options(std::string& page, std::span<const OptionHelp> options) {
  for (const OptionHelp& option : options) {
    page += fmt::format(".TP\n.B {}\n{}.{}\n", roff(option.title()), roff(option.about),
                        option.standard.empty()
                            ? std::string()
                            : fmt::format(" Without it: {}.", roff(option.standard)));
  }
}

void add_examples(std::string& page, const CommandHelp& command) {
  for (const ExampleHelp& example : command.examples) {
    page += fmt::format(".TP\n.B felsite {}\n{}.\n", roff(example.line), roff(example.about));
  }
}

// Preformatted lines.
void add_lines(std::string& page, const std::string& text) {
  page += ".nf\n";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) page += roff(line) + "\n";
  page += ".fi\n";
}

}  // namespace

std::string manual_page(const CLI::App& tool) {
  const CommandHelp root = describe_command(tool);
  std::string page = fmt::format(
      ".TH FELSITE 1 \"\" \"felsite {}\" \"User Commands\"\n.SH NAME\nfelsite \\- {}\n"
      ".SH SYNOPSIS\n.B {}\n.SH OPTIONS\n",
      FELSITE_VERSION, roff(root.about), roff(root.usage()));
  add_options(page, root.options);
  page += ".SH COMMANDS\n";
  for (const CommandHelp& command : describe_commands(tool)) {
    page += fmt::format(".SS {}\n{}.\n.PP\n.B {}\n", roff(command.name), roff(command.about),
                        roff(command.usage()));
    add_options(page, command.arguments);
    add_options(page, command.options);
    if (!command.examples.empty()) page += ".PP\nExamples:\n";
    add_examples(page, command);
    // The notes of every command end with those of the tool, which are printed once, at the end.
    if (command.notes.size() > root.notes.size() && command.notes.ends_with(root.notes)) {
      page += ".PP\n";
      add_lines(page, command.notes.substr(0, command.notes.size() - root.notes.size()));
    }
  }
  page += ".SH EXAMPLES\n";
  add_examples(page, root);
  page += ".SH NOTES\n";
  add_lines(page, root.notes);
  return page;
}

void add_man(CLI::App& app, CommonOptions&, Action& action) {
  CLI::App* command = app.add_subcommand("man", "Print the manual page");
  command->callback([&] {
    action = [&] {
      write_out(manual_page(app));
      return int{kOk};
    };
  });
}

}  // namespace felsite::tool
