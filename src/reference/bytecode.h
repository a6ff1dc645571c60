// What the interpreter runs: a program as a flat list of instructions over registers.
//
// A register holds one value for every invocation of a workgroup, side by side. Control flow uses
// masks: a mask says which invocations are active. Arithmetic runs for all lanes in the mask's
// range, since results of inactive lanes are never observed; everything observable (variables,
// memory, traps) checks the mask.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "arithmetic/kernels.h"
#include "felsite/validate.h"

namespace felsite::reference {

// Instructions compute with these kernels; the interpreter names them without a prefix.
using namespace arithmetic;

enum class Opcode : std::uint8_t {
  Unary,       // dst = kernel(a)
  Binary,      // dst = kernel(a, b)
  Ternary,     // dst = kernel(a, b, c)
  Constant,    // dst = imm, in every lane
  Copy,        // dst = a, in every lane
  MaskedCopy,  // dst = a, where active
  Builtin,     // dst = an id; ExprKind in `op`, axis in `axis`
  Length,      // dst = length of buffer b
  Load,        // dst = buffer b [a]
  Store,       // buffer b [a] = c
  Atomic,      // dst = old value of buffer b [a]; operand c, expected d
  Ballot,
  Shuffle,
  Reduce,
  MaskThen,    // mask dst = mask a where c; jump if it is empty
  MaskElse,    // mask dst = mask a where not c; jump if it is empty
  MaskCopy,    // mask dst = mask a
  MaskAlive,   // removes returned invocations from mask dst, which becomes the current one
  UseMask,     // mask dst becomes the current one
  LoopTest,    // mask dst keeps lanes with a < b; jump if it is empty
  LoopNext,    // a += 1 for mask dst; jump
  Call,        // pushes the next instruction; jump
  Return,      // from a user-defined operation
  End,         // the active invocations end for good
  Finish,      // the workgroup is done
  AsyncIssue,  // destination buffer b [a], source buffer d [c], imm elements, tag e
  AsyncWait,   // tag e
  Trap,        // address a, tag e; the active invocations end for good
  GridSync,    // a segment ends: the workgroup waits for all others; with b, c a collective copies
               // c to b
};

struct Instruction {
  Opcode opcode = Opcode::Finish;
  ir::Type type = ir::Type::None;  // of the value, or of the element in memory
  ir::Type from = ir::Type::None;  // of the first operand
  std::uint8_t op = 0;             // AtomicOp; ExprKind of a builtin
  std::uint8_t axis = 0;
  std::uint32_t dst = 0;  // registers by their first unit; masks by number
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t d = 0;
  std::uint32_t e = 0;
  std::uint32_t jump = 0;
  union Immediate {
    std::uint64_t bits = 0;  // of a lane
    UnaryKernel unary;
    BinaryKernel binary;
    TernaryKernel ternary;
  };
  Immediate imm = {};
};

// Registers are counted in units of 32 bits per lane; a 64-bit register takes two.
struct Bytecode {
  std::vector<Instruction> code;
  std::uint32_t units = 0;
  std::uint32_t masks = 1;  // mask 0: the invocations that entered
  std::uint32_t entry = 0;  // first instruction
  std::vector<std::string> tags;
};

Bytecode compile(const ir::ValidProgram& program);

}  // namespace felsite::reference
