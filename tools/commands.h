// The commands of the `felsite` tool. Each adds itself to the command line and runs when chosen.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace felsite::tool {

// Documented in docs/tool.md.
enum ExitCode : int { kOk = 0, kProgramAtFault = 1, kUsage = 2, kDeviceAtFault = 3 };

// What all commands on programs take.
struct CommonOptions {
  bool json = false;
  std::string backend = "auto";
  std::string device;
};

using Action = std::function<int()>;

void add_check(CLI::App& app, CommonOptions& common, Action& action);
void add_run(CLI::App& app, CommonOptions& common, Action& action);
void add_explain(CLI::App& app, CommonOptions& common, Action& action);
void add_trace(CLI::App& app, CommonOptions& common, Action& action);
void add_spirv(CLI::App& app, CommonOptions& common, Action& action);
void add_fmt(CLI::App& app, CommonOptions& common, Action& action);
void add_devices(CLI::App& app, CommonOptions& common, Action& action);
void add_bench(CLI::App& app, CommonOptions& common, Action& action);
void add_completion(CLI::App& app, CommonOptions& common, Action& action);
void add_man(CLI::App& app, CommonOptions& common, Action& action);

// --json, --backend, --device.
void add_common(CLI::App& command, CommonOptions& common);

// As the check of an option: an error for any other word, or nothing.
std::function<std::string(const std::string&)> one_of(std::vector<std::string> words);

}  // namespace felsite::tool
