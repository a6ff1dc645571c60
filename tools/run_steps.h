// The steps that `felsite run` and `felsite trace` share.
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

// A run whose options, program and inputs have been checked.
struct PreparedRun {
  ir::Program program;
  Styles wanted;
  std::vector<Bytes> inputs;
  Route route;
};

// Reads the program, its marked options and its inputs. Errors are reported, and given as the exit
// code.
std::expected<PreparedRun, int> prepare_run(CLI::App& command, const RunArguments& args,
                                            const CommonOptions& common);

// Runs the program, and says where if that may surprise. Errors are reported, and given as the exit
// code.
std::expected<Ran, int> execute_run(const PreparedRun& ready, const RunArguments& args,
                                    const CommonOptions& common);

// FILE and all options of a run.
void add_run_arguments(CLI::App& app, CLI::App& command, RunArguments& args, CommonOptions& common);

}  // namespace felsite::tool
