// The configuration and the inputs that `felsite run` dispatches with.
#pragma once

#include <vector>

#include "felsite/backend.h"
#include "felsite/explain.h"
#include "run_arguments.h"

namespace felsite::tool {

DispatchConfig make_config(const RunArguments& args, const ir::Program& program);

// One for each buffer that takes the caller's bytes, in the order of the declarations.
Result<std::vector<Bytes>> make_inputs(const ir::Program& program, const RunArguments& args);

// The sizes of the inputs that were given, and the words of the grid if they are among them.
Result<ExplainInputs> known_inputs(const ir::Program& program, const RunArguments& args);

}  // namespace felsite::tool
