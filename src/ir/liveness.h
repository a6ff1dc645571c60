// Liveness: which variables an invocation may still read after a node.
#pragma once

#include <span>
#include <vector>

#include "felsite/program.h"

namespace felsite::ir {

// For each of `points` (nodes of the entry, such as its grid barriers): the variables declared by
// then whose current value may be read afterwards, sorted. Loops are followed around.
std::vector<std::vector<VarId>> live_after(const Program& program, std::span<const NodeId> points);

}  // namespace felsite::ir
