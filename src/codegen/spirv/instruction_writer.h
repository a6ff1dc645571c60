// The instructions of a function by name: with spirv_module.h, the only place that spells opcodes.
// Operands stand in SPIR-V's order, after the type of the result.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "codegen/spirv/spirv_module.h"
#include "felsite/ops.h"

namespace felsite::codegen {

class InstructionWriter {
 public:
  using Operands = std::initializer_list<std::uint32_t>;

  // One of the instructions below, for code that is the same for several of them.
  using Instruction = Id (InstructionWriter::*)(Id type, Operands operands);

  explicit InstructionWriter(SpirvModule& module) : module_(module) {}

  // Emits all that `body` emits at the start of the function.
  template <class Body>
  auto at_start(Body body) {
    const bool before = std::exchange(at_start_, true);
    const auto result = body();
    at_start_ = before;
    return result;
  }

  Id logical_not(Id type, Operands a) { return emit(spv::Op::OpLogicalNot, type, a); }
  Id logical_and(Id type, Operands ab) { return emit(spv::Op::OpLogicalAnd, type, ab); }
  Id logical_or(Id type, Operands ab) { return emit(spv::Op::OpLogicalOr, type, ab); }
  Id logical_equal(Id type, Operands ab) { return emit(spv::Op::OpLogicalEqual, type, ab); }
  Id logical_not_equal(Id type, Operands ab) { return emit(spv::Op::OpLogicalNotEqual, type, ab); }

  // Integers are unsigned unless the name says otherwise.
  Id add(Id type, Operands ab) { return emit(spv::Op::OpIAdd, type, ab); }
  Id subtract(Id type, Operands ab) { return emit(spv::Op::OpISub, type, ab); }
  Id multiply(Id type, Operands ab) { return emit(spv::Op::OpIMul, type, ab); }
  Id multiply_extended(Id type, Operands ab) { return emit(spv::Op::OpUMulExtended, type, ab); }
  Id divide(Id type, Operands ab) { return emit(spv::Op::OpUDiv, type, ab); }
  Id modulo(Id type, Operands ab) { return emit(spv::Op::OpUMod, type, ab); }
  Id signed_divide(Id type, Operands ab) { return emit(spv::Op::OpSDiv, type, ab); }
  Id bit_not(Id type, Operands a) { return emit(spv::Op::OpNot, type, a); }
  Id bit_and(Id type, Operands ab) { return emit(spv::Op::OpBitwiseAnd, type, ab); }
  Id bit_or(Id type, Operands ab) { return emit(spv::Op::OpBitwiseOr, type, ab); }
  Id bit_xor(Id type, Operands ab) { return emit(spv::Op::OpBitwiseXor, type, ab); }
  Id bit_count(Id type, Operands a) { return emit(spv::Op::OpBitCount, type, a); }
  Id reverse_bits(Id type, Operands a) { return emit(spv::Op::OpBitReverse, type, a); }
  Id shift_left(Id type, Operands ab) { return emit(spv::Op::OpShiftLeftLogical, type, ab); }
  Id shift_right(Id type, Operands ab) { return emit(spv::Op::OpShiftRightLogical, type, ab); }
  Id signed_shift_right(Id type, Operands ab) {
    return emit(spv::Op::OpShiftRightArithmetic, type, ab);
  }
  Id equal(Id type, Operands ab) { return emit(spv::Op::OpIEqual, type, ab); }
  Id not_equal(Id type, Operands ab) { return emit(spv::Op::OpINotEqual, type, ab); }
  Id less(Id type, Operands ab) { return emit(spv::Op::OpULessThan, type, ab); }
  Id less_equal(Id type, Operands ab) { return emit(spv::Op::OpULessThanEqual, type, ab); }
  Id greater(Id type, Operands ab) { return emit(spv::Op::OpUGreaterThan, type, ab); }
  Id greater_equal(Id type, Operands ab) { return emit(spv::Op::OpUGreaterThanEqual, type, ab); }
  Id signed_less(Id type, Operands ab) { return emit(spv::Op::OpSLessThan, type, ab); }
  Id signed_less_equal(Id type, Operands ab) { return emit(spv::Op::OpSLessThanEqual, type, ab); }

  // Comparisons of floats are ordered: false where one side is a NaN.
  Id float_negate(Id type, Operands a) { return emit(spv::Op::OpFNegate, type, a); }
  Id float_add(Id type, Operands ab) { return emit(spv::Op::OpFAdd, type, ab); }
  Id float_subtract(Id type, Operands ab) { return emit(spv::Op::OpFSub, type, ab); }
  Id float_multiply(Id type, Operands ab) { return emit(spv::Op::OpFMul, type, ab); }
  Id float_divide(Id type, Operands ab) { return emit(spv::Op::OpFDiv, type, ab); }
  Id float_equal(Id type, Operands ab) { return emit(spv::Op::OpFOrdEqual, type, ab); }
  Id float_less(Id type, Operands ab) { return emit(spv::Op::OpFOrdLessThan, type, ab); }
  Id float_less_equal(Id type, Operands ab) { return emit(spv::Op::OpFOrdLessThanEqual, type, ab); }

  Id bitcast(Id type, Operands a) { return emit(spv::Op::OpBitcast, type, a); }
  Id convert_integer(Id type, Operands a) { return emit(spv::Op::OpUConvert, type, a); }
  Id convert_float(Id type, Operands a) { return emit(spv::Op::OpFConvert, type, a); }
  Id float_from_unsigned(Id type, Operands a) { return emit(spv::Op::OpConvertUToF, type, a); }
  Id float_from_signed(Id type, Operands a) { return emit(spv::Op::OpConvertSToF, type, a); }
  Id unsigned_from_float(Id type, Operands a) { return emit(spv::Op::OpConvertFToU, type, a); }
  Id signed_from_float(Id type, Operands a) { return emit(spv::Op::OpConvertFToS, type, a); }
  Id quantize_to_half(Id type, Operands a) { return emit(spv::Op::OpQuantizeToF16, type, a); }

  Id select(Id type, Operands cab) { return emit(spv::Op::OpSelect, type, cab); }
  Id extract(Id type, Operands from) { return emit(spv::Op::OpCompositeExtract, type, from); }
  Id construct(Id type, Operands parts) { return emit(spv::Op::OpCompositeConstruct, type, parts); }
  Id access(Id type, Operands path) { return emit(spv::Op::OpAccessChain, type, path); }
  Id array_length(Id type, Operands of) { return emit(spv::Op::OpArrayLength, type, of); }
  Id load(Id type, Operands from) { return emit(spv::Op::OpLoad, type, from); }
  void store(Operands to) { body_.add(spv::Op::OpStore, to); }
  Id call(Id type, Operands function, std::span<const Id> arguments = {}) {
    return emit(spv::Op::OpFunctionCall, type, function, arguments);
  }
  // An instruction of GLSL.std.450.
  Id extended(Id type, std::uint32_t instruction, std::span<const Id> operands) {
    return emit(spv::Op::OpExtInst, type, {module_.glsl_instructions(), instruction}, operands);
  }

  // {pointer, scope, semantics, value}; the one that compares has the semantics of a failure and
  // the value that is expected, too. The result is what was there before.
  Id atomic(ir::AtomicOp op, bool is_signed, Id type, Operands operands);
  Id atomic_add_float(Id type, Operands operands) {
    return emit(spv::Op::OpAtomicFAddEXT, type, operands);
  }
  Id atomic_load(Id type, Operands from) { return emit(spv::Op::OpAtomicLoad, type, from); }
  void atomic_store(Operands to) { body_.add(spv::Op::OpAtomicStore, to); }
  void control_barrier(Operands scopes) { body_.add(spv::Op::OpControlBarrier, scopes); }

  Id group_ballot(Id type, Operands operands) {
    return emit(spv::Op::OpGroupNonUniformBallot, type, operands);
  }
  Id group_shuffle(Id type, Operands operands) {
    return emit(spv::Op::OpGroupNonUniformShuffle, type, operands);
  }
  // {scope, value}
  Id group_reduce(ir::ReduceOp op, bool is_signed, Id type, Operands operands);

  void line(Id file, std::uint32_t line, std::uint32_t column) {
    body_.add(spv::Op::OpLine, {file, line, column});
  }

 protected:
  Id emit(spv::Op op, Id type, Operands operands) {
    const Id id = module_.new_id();
    (at_start_ ? prologue_ : body_).add_with_result(op, type, id, operands, {});
    return id;
  }
  Id emit(spv::Op op, Id type, Operands first, std::span<const std::uint32_t> rest) {
    const Id id = module_.new_id();
    body_.add_with_result(op, type, id, first, rest);
    return id;
  }

  SpirvModule& module_;
  Instructions prologue_;
  Instructions body_;

 private:
  bool at_start_ = false;
};

}  // namespace felsite::codegen
