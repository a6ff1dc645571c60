// The text of a program with the segments that its lines belong to.
#pragma once

#include <string_view>
#include <vector>

#include "felsite/explain.h"
#include "felsite/validate.h"

namespace felsite::dispatch {

// `text` is what the program was parsed from. If it is something else, or the program was built,
// the lines are those of the printed program.
std::vector<ExplainedLine> explain_source(const ir::ValidProgram& program, std::string_view text);

}  // namespace felsite::dispatch
