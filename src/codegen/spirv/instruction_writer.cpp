#include "codegen/spirv/instruction_writer.h"

#include <array>

#include "base/in_order.h"

namespace felsite::codegen {
namespace {

using ir::AtomicOp;
using ir::ReduceOp;
using spv::Op;

template <class Operation>
struct OpcodeRow {
  Operation op;
  spv::Op opcode;
  spv::Op of_signed;
};

constexpr std::array<OpcodeRow<AtomicOp>, ir::kAtomicOpCount> kAtomics{{
    {AtomicOp::Add, Op::OpAtomicIAdd, Op::OpAtomicIAdd},
    {AtomicOp::Sub, Op::OpAtomicISub, Op::OpAtomicISub},
    {AtomicOp::Or, Op::OpAtomicOr, Op::OpAtomicOr},
    {AtomicOp::And, Op::OpAtomicAnd, Op::OpAtomicAnd},
    {AtomicOp::Xor, Op::OpAtomicXor, Op::OpAtomicXor},
    {AtomicOp::Min, Op::OpAtomicUMin, Op::OpAtomicSMin},
    {AtomicOp::Max, Op::OpAtomicUMax, Op::OpAtomicSMax},
    {AtomicOp::Exchange, Op::OpAtomicExchange, Op::OpAtomicExchange},
    {AtomicOp::CompareExchange, Op::OpAtomicCompareExchange, Op::OpAtomicCompareExchange},
}};

constexpr std::array<OpcodeRow<ReduceOp>, ir::kReduceOpCount> kReductions{{
    {ReduceOp::Add, Op::OpGroupNonUniformIAdd, Op::OpGroupNonUniformIAdd},
    {ReduceOp::Mul, Op::OpGroupNonUniformIMul, Op::OpGroupNonUniformIMul},
    {ReduceOp::Min, Op::OpGroupNonUniformUMin, Op::OpGroupNonUniformSMin},
    {ReduceOp::Max, Op::OpGroupNonUniformUMax, Op::OpGroupNonUniformSMax},
    {ReduceOp::And, Op::OpGroupNonUniformBitwiseAnd, Op::OpGroupNonUniformBitwiseAnd},
    {ReduceOp::Or, Op::OpGroupNonUniformBitwiseOr, Op::OpGroupNonUniformBitwiseOr},
    {ReduceOp::Xor, Op::OpGroupNonUniformBitwiseXor, Op::OpGroupNonUniformBitwiseXor},
}};

static_assert(base::in_order(kAtomics, &OpcodeRow<AtomicOp>::op));
static_assert(base::in_order(kReductions, &OpcodeRow<ReduceOp>::op));

Op opcode(const auto& rows, auto op, bool is_signed) {
  const auto& row = rows[static_cast<std::size_t>(op)];
  return is_signed ? row.of_signed : row.opcode;
}

}  // namespace

Id InstructionWriter::atomic(AtomicOp op, bool is_signed, Id type, Operands operands) {
  return emit(opcode(kAtomics, op, is_signed), type, operands);
}

Id InstructionWriter::group_reduce(ReduceOp op, bool is_signed, Id type, Operands operands) {
  const auto* const given = operands.begin();
  return emit(opcode(kReductions, op, is_signed), type,
              {given[0], as_operand(spv::GroupOperation::Reduce), given[1]});
}

}  // namespace felsite::codegen
