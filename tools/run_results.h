// What `felsite run` shows of the results, and how it compares them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "felsite/backend.h"
#include "run_arguments.h"
#include "run_program.h"

namespace felsite::tool {

// By name of the result, how to show it.
using Styles = std::map<std::string, std::string>;

// NAME=SPEC pairs, each naming one of `names` once.
Result<std::map<std::string, std::string>> split_pairs(const std::vector<std::string>& pairs,
                                                       const std::vector<std::string>& names,
                                                       std::string_view what);

// What --output asks for. Looked at before the run: a wrong name must not cost one.
Result<Styles> wanted_outputs(const ir::Program& program, const RunArguments& args);

// Shows every result, or only those that --output names, each in its way; then how it went.
Result<void> show_outputs(const ir::Program& program, const Ran& ran, const Styles& wanted,
                          const RunArguments& args, bool json);

// The same without standard output: the results that go to files, and how it went.
Result<void> write_outputs(const ir::Program& program, const Ran& ran, const Styles& wanted,
                           const RunArguments& args);

// The first element in which a device differs from the reference, as an error; nothing if none
// does.
std::optional<Error> first_difference(const ir::Program& program,
                                      const std::vector<Bytes>& reference,
                                      const std::vector<Bytes>& device);

}  // namespace felsite::tool
