// Operations over arrays of lanes, looked up by operation and type; the interpreter runs them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "felsite/ops.h"

namespace felsite::arithmetic {

// Arrays of lanes in register form (arithmetic.h). The result may be one of the operands.
using UnaryKernel = void (*)(void* result, const void* a, std::size_t lanes);
using BinaryKernel = void (*)(void* result, const void* a, const void* b, std::size_t lanes);
using TernaryKernel = void (*)(void* result, const void* a, const void* b, const void* c,
                               std::size_t lanes);

// Null if the typing rules reject the combination.
BinaryKernel binary_kernel(ir::BinaryOp op, ir::Type type);
UnaryKernel unary_kernel(ir::UnaryOp op, ir::Type type);
TernaryKernel fma_kernel(ir::Type type);
UnaryKernel cast_kernel(ir::Type from, ir::Type to);
UnaryKernel bitcast_kernel(ir::Type from, ir::Type to);
// Operands: condition, a, b. Looked up by the size of a lane.
TernaryKernel select_kernel(ir::Type type);
// Combines two values of a subgroup reduction.
BinaryKernel reduce_kernel(ir::ReduceOp op, ir::Type type);

// Bytes of one lane in register form: 4 or 8.
constexpr std::uint32_t lane_bytes(ir::Type type) { return ir::info(type).bytes == 8 ? 8 : 4; }

// Converts one lane to and from the bits of a literal or of an element in a buffer.
void lane_from_bits(ir::Type type, std::uint64_t element_bits, void* lane);
std::uint64_t bits_from_lane(ir::Type type, const void* lane);

}  // namespace felsite::arithmetic
