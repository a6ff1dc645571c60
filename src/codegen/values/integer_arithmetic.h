// The integer operations, on words and on 64-bit values.
#pragma once

#include "codegen/values/value.h"

namespace felsite::codegen {

Value lower_integer_binary(ir::BinaryOp op, Value a, Value b);
Value lower_integer_unary(ir::UnaryOp op, Value a);

}  // namespace felsite::codegen
