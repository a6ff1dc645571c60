// The options of `felsite run`, `felsite trace` and `felsite explain`, from the command line and
// from the program's own comments.
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

// Those that decide how a program runs: of `felsite explain` too.
void add_plan_options(CLI::App& command, RunArguments& args, CommonOptions& common);
// All but FILE.
void add_run_options(CLI::App& command, RunArguments& args, CommonOptions& common);

// Adds what the first line `//! run:` of the program's text says and the command line does not.
Result<void> apply_marked(CLI::App& command, std::string_view text, const std::string& path);

// Options that were given and do not go together: what is wrong, or nothing.
std::string conflict(const CLI::App& command, const RunArguments& args,
                     const CommonOptions& common);

// The same for what decides about the grid, of `felsite explain` too.
std::string grid_conflict(const RunArguments& args);

// Standard input that is read twice, one file for two results: of `felsite explain` too.
std::string stream_conflict(const RunArguments& args);

// Where the results go, as whole paths, less those that go to standard output.
std::vector<std::string> output_files(const RunArguments& args);

// As the check of an option that names a file to write: standard output is `-` from there on,
// however it was named.
std::string take_written_path(std::string& path);

// What is wrong with a command line.
struct Refusal {
  std::string message;  // empty: there is none
  std::string fix;
};
// Where a result would replace what the command reads. Of the outputs: the program. To bring the
// file of an input up to date is what they may be for.
Refusal replacement_by_outputs(const RunArguments& args);
// Of another file, which `what` ("the trace") goes to and `option` names: the program and inputs.
Refusal replacement_by(const std::string& path, std::string_view what, std::string_view option,
                       const RunArguments& args);

// X[,Y[,Z]]; those left out are 1.
std::optional<std::array<std::uint32_t, 3>> parse_extents(std::string_view text);

}  // namespace felsite::tool
