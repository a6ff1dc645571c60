// The operations by what their operands are: what the entry points of value.h choose from.
#pragma once

#include "codegen/values/value.h"

namespace felsite::codegen {

// On words and on 64-bit values.
Value lower_integer_binary(ir::BinaryOp op, Value a, Value b);
Value lower_integer_unary(ir::UnaryOp op, Value a);

// On f16, bf16, f32 and f64.
Value lower_float_binary(ir::BinaryOp op, Value a, Value b);
Value lower_float_unary(ir::UnaryOp op, Value a);

// The transcendental functions of f32 (UnaryOpInfo::is_function): in exact mode the algorithms of
// the reference, emitted; in fast mode the device's own. In exact mode neither the operand nor the
// result is subnormal.
Float transcendental(ir::UnaryOp op, Float x);

}  // namespace felsite::codegen
