// What is wrong with a command line, in helpful words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class Error;
}  // namespace CLI

namespace felsite::tool {

struct Usage {
  std::string message;  // a sentence without its full stop
  std::string fix;
};

// The message of CLI11 about an option of the command, as a sentence without its full stop.
std::string sentence_of(const CLI::App& command, const CLI::Error& error);

// Such a sentence about the first option with nothing after its `=`, or the first flag with a
// value, or nothing. CLI11 would take the next word for the value, and a flag with a value for a
// setting.
std::string wrong_value(const CLI::App& command, const std::vector<std::string>& words);

// What is wrong with the options of one command, or of a program without commands.
Usage explain_options(const CLI::App& command, const CLI::Error& error);
// The same for the tool with its commands. `first` is the word behind the tool's name, or empty.
Usage explain_usage(const CLI::App& app, const CLI::Error& error, const std::string& first);

// Whether the command line asks for JSON, also where the rest of it is wrong.
bool wants_json(int argc, char** argv);

}  // namespace felsite::tool
