// Whether the workgroups of a dispatch can run in any order, or in parallel, with the same result.
#pragma once

#include <array>

#include "felsite/program.h"

namespace felsite::reference {

// True only if it is proven: no storage atomics, no grid-wide operations, and every access to a
// written storage buffer uses an index that belongs to the workgroup. Such an index is base *
// stride + offset with a literal offset below the literal stride, where base is the invocation's or
// the workgroup's id along the only axis on which the grid extends.
bool workgroups_are_independent(const ir::Program& program, Extent3 grid);

}  // namespace felsite::reference
