// Uniformity: which values are the same for every running invocation of a workgroup, or of the
// whole grid, and which control flow all of them take together.
//
// An invocation that returned is out of the game: what the remaining ones agree on is uniform.
#pragma once

#include <vector>

#include "felsite/program.h"

namespace felsite::ir {

enum class Uniformity : std::uint8_t { Grid, Workgroup, Divergent };  // joining takes the larger

struct UniformityMap {
  std::vector<Uniformity> vars;     // by VarId, of the entry; over all its assignments
  std::vector<Uniformity> exprs;    // by ExprId
  std::vector<Uniformity> control;  // by NodeId: the control flow that reaches the node
  // By ExprId, of a load of what may be changing meanwhile: a statement that writes it, else kNone.
  std::vector<NodeId> writers;
};

// A fixpoint over assignments and loops, in linear time. A load counts as uniform if its index is,
// and no invocation can be changing the buffer meanwhile: there is no barrier, nor the start, from
// which both the load and a write can be reached without crossing another barrier.
UniformityMap analyze_uniformity(const Program& program);

}  // namespace felsite::ir
