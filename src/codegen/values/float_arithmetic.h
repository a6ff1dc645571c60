// The operations on f16, bf16, f32 and f64.
#pragma once

#include "codegen/values/value.h"

namespace felsite::codegen {

Value lower_float_binary(ir::BinaryOp op, Value a, Value b);
Value lower_float_unary(ir::UnaryOp op, Value a);

}  // namespace felsite::codegen
