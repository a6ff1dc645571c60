// Uniformity: which values are the same for every running invocation of a workgroup, or of the
// whole grid, and which control flow all of them take together.
//
// An invocation that has returned no longer counts: a value is uniform if the remaining ones agree
// on it.
#pragma once

#include <vector>

#include "felsite/program.h"

namespace felsite::ir {

enum class Uniformity : std::uint8_t { Grid, Workgroup, Divergent };  // joining takes the larger

struct UniformityMap {
  std::vector<Uniformity> vars;     // by VarId, for the entry; over all assignments
  std::vector<Uniformity> exprs;    // by ExprId
  std::vector<Uniformity> control;  // by NodeId: the control flow that reaches the node
  // By ExprId, for a load of memory that may be changing: a statement that writes it, else kNone.
  std::vector<NodeId> writers;
};

// A fixpoint over assignments and loops, in linear time. A load is uniform if its index is, and if
// no invocation can be changing the buffer at the same time: no barrier, nor the start, reaches
// both the load and a write without crossing another barrier.
UniformityMap analyze_uniformity(const Program& program);

}  // namespace felsite::ir
