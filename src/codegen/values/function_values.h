// The transcendental functions of f32: in exact mode the algorithms of the reference, emitted; in
// fast mode the device's own.
#pragma once

#include "codegen/values/values.h"
#include "felsite/ops.h"

namespace felsite::codegen {

// `op` is a function (UnaryOpInfo::is_function). The operand is not subnormal in exact mode, nor is
// the result.
Float transcendental(ir::UnaryOp op, Float x);

}  // namespace felsite::codegen
