// The options of `felsite run`, `trace`, `explain` and `spirv` about a dispatch, from the command
// line and from the program's own comments.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "commands.h"
#include "felsite/error.h"

namespace felsite::tool {

struct RunArguments {
  std::string path;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string grid;
  std::string workgroup;
  std::string invocations;
  std::optional<std::uint32_t> fixpoint;
  std::string convergence = "auto";
  std::string grid_sync = "auto";
  double timeout_seconds = 0;
  std::size_t limit = 64;
  std::string order = "forward";
  std::uint64_t seed = 0;
  std::uint32_t subgroup_width = 32;
  bool count_out_of_bounds = false;
  std::string mask;
  bool check = false;
  bool timing = false;
  bool marked = false;
  bool require_convergence = false;
};

// The options that decide what runs: inputs, grid, iterations, forms.
void add_form_options(CLI::App& command, RunArguments& args);
// The options that decide how a program runs, which `felsite explain` has too.
void add_plan_options(CLI::App& command, RunArguments& args, CommonOptions& common);
// All but FILE.
void add_run_options(CLI::App& command, RunArguments& args, CommonOptions& common);

// Adds the options of the program's first line `//! run:` that the command line does not give.
Result<void> apply_marked(CLI::App& command, std::string_view text, const std::string& path);

// Options that were given and do not go together: what is wrong, or nothing.
std::string conflict(const CLI::App& command, const RunArguments& args,
                     const CommonOptions& common);

// The same for the options that decide how a program runs, which `felsite explain` has too.
std::string plan_conflict(const CLI::App& command, const RunArguments& args);

// The same for standard input that is read twice, and one file for two results.
std::string stream_conflict(const RunArguments& args);

// The files that results go to, as whole paths.
std::vector<std::string> output_files(const RunArguments& args);

// The check of an option that names a file to write: any name of standard output becomes `-`.
std::string take_written_path(std::string& path);

// The check of an option that takes a whole number of 32 bits, which it rewrites as CLI11 reads it.
std::string take_u32(std::string& text);

// What is wrong with a command line.
struct Refusal {
  std::string message;  // empty: nothing is wrong
  std::string fix;
};
// Where a result would replace a file that the command reads. Outputs may not replace the program;
// they may replace the file of an input, to update it.
Refusal replacement_by_outputs(const RunArguments& args);
// The file that `what` ("the trace") goes to and `option` names may replace neither the program nor
// an input.
Refusal replacement_by(const std::string& path, std::string_view what, std::string_view option,
                       const RunArguments& args);

// X[,Y[,Z]]; missing extents are 1.
std::optional<Extent3> parse_extents(std::string_view text);

}  // namespace felsite::tool
