// The steps that `felsite run` and `felsite trace` have in common.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "felsite/backend.h"
#include "run_arguments.h"
#include "run_program.h"
#include "run_results.h"
#include "run_route.h"

namespace felsite::tool {

// All that can be wrong before something runs has been looked at.
struct ReadyRun {
  ir::Program program;
  Styles wanted;
  std::vector<Bytes> inputs;
  Route route;
};

// Reads the program, its marked options and its inputs. What is wrong is shown; the error is then
// the exit code.
std::expected<ReadyRun, int> make_ready(CLI::App& command, const RunArguments& args,
                                        const CommonOptions& common);

// Says where the program runs if that may surprise, and runs it. An error is shown; the error is
// then the exit code.
std::expected<Ran, int> carry_out(const ReadyRun& ready, const RunArguments& args,
                                  const CommonOptions& common);

// FILE and all options of a run.
void add_run_arguments(CLI::App& app, CLI::App& command, RunArguments& args, CommonOptions& common);

}  // namespace felsite::tool
