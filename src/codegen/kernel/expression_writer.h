// Writes the expressions of a program, and the functions of the operations that they call.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "codegen/kernel/subgroup_lowering.h"
#include "codegen/kernel/variables.h"

namespace felsite::codegen {

class ExpressionWriter : KernelPart {
 public:
  ExpressionWriter(const KernelPart& kernel, Variables& variables,
                   WriteStatements write_statements);

  Value evaluate(ir::ExprId root) { return evaluate_operand(root).emitted(e_); }
  Operand evaluate_operand(ir::ExprId root);

 private:
  std::optional<ir::Literal> folded(ir::ExprId id, std::span<const Operand> operands) const;
  Value expression(ir::ExprId id, std::span<const Value> operands);
  Word supplied(std::uint32_t index);
  Value call(const ir::Expr& expr, std::span<const Value> operands);
  Id op_function(ir::OpId op);

  Variables& variables_;
  WriteStatements write_statements_;  // of the body of an operation
  SubgroupLowering subgroups_;
  std::vector<Operand> operands_;  // a stack of those that nothing has used yet
  std::vector<Id> op_functions_;   // by OpId
};

}  // namespace felsite::codegen
