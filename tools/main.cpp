// felsite: check, run, format and measure programs from the command line.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

#include "commands.h"

namespace felsite::tool {

void add_common(CLI::App& command, CommonOptions& common) {
  command.add_flag("--json", common.json, "Print results and errors as JSON");
  command.add_option("--backend", common.backend, "Which backend runs the program")
      ->capture_default_str();
  command.add_option("--device", common.device, "Which device of the backend");
}

}  // namespace felsite::tool

int main(int argc, char** argv) {
  using namespace felsite::tool;
  CLI::App app("A portable GPU-compute runtime: one kernel language, the same bits on every device.",
               "felsite");
  app.set_version_flag("--version", "felsite " FELSITE_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok, 1 the program or its input is at fault, 2 usage, 3 device or driver.");
  CommonOptions common;
  Action action;
  add_check(app, common, action);
  add_run(app, common, action);
  add_fmt(app, common, action);
  add_bench(app, common, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  try {
    return action();
  } catch (const std::exception& error) {
    // The library reports errors as values; what is thrown here is the host running out of something.
    fmt::print(stderr, "felsite: {}\n", error.what());
    return kDeviceAtFault;
  }
}
