// Shows and compares the results of `felsite run`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "felsite/backend.h"
#include "run_arguments.h"
#include "run_program.h"

namespace felsite::tool {

// How to show each result, by its name.
using Styles = std::map<std::string, std::string>;

// NAME=SPEC pairs, each naming one of `names` once.
Result<std::map<std::string, std::string>> split_pairs(const std::vector<std::string>& pairs,
                                                       const std::vector<std::string>& names,
                                                       std::string_view what);

// What --output asks for. Checked before the run, which a wrong name must not cost.
Result<Styles> wanted_outputs(const ir::Program& program, const RunArguments& args);

// Shows every result, or only those that --output names, in the form that it names; then how the
// run went.
Result<void> show_outputs(const ir::Program& program, const Ran& ran, const Styles& wanted,
                          const RunArguments& args, bool json);

// The same without standard output: writes the results that go to files, and says how the run went.
Result<void> write_outputs(const ir::Program& program, const Ran& ran, const Styles& wanted,
                           const RunArguments& args);

// The first element that differs between device and reference, as an error; nothing if all are
// equal.
std::optional<Error> first_difference(const ir::Program& program,
                                      const std::vector<Bytes>& reference,
                                      const std::vector<Bytes>& device);

}  // namespace felsite::tool
