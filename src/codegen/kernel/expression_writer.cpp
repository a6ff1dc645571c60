#include "codegen/kernel/expression_writer.h"

#include <utility>

#include "arithmetic/fold.h"
#include "codegen/values/float_bits.h"

namespace felsite::codegen {

using ir::ExprKind;
using ir::Type;

ExpressionWriter::ExpressionWriter(const KernelPart& kernel, Variables& variables,
                                   WriteStatements write_statements)
    : KernelPart(kernel),
      variables_(variables),
      write_statements_(std::move(write_statements)),
      subgroups_(kernel, variables),
      op_functions_(program_.ops().size(), 0) {}

// Rows stand in evaluation order, every operand before what uses it, so a stack is all it takes.
// What is made of literals only is computed here, by the reference's arithmetic: the constant
// folding of drivers differs from what their devices do.
Operand ExpressionWriter::evaluate_operand(ir::ExprId root) {
  const std::size_t bottom = operands_.size();
  for (const ir::ExprId id : program_.rows(root)) {
    const std::size_t arity = program_.operands(id).size();
    const std::size_t first = operands_.size() - arity;
    Operand result;
    if (program_.expr(id).kind == ExprKind::Var) {
      result = variables_.read(program_.expr(id).ref);
    } else {
      result.literal = folded(id, std::span(operands_).subspan(first));
      if (!result.literal) {
        // Only calls have more than three. What a call emits may reallocate the stack.
        std::array<Value, 3> few;
        std::vector<Value> many(arity > few.size() ? arity : 0);
        const std::span<Value> values = many.empty() ? std::span(few).first(arity) : many;
        for (std::size_t i = 0; i < arity; ++i) values[i] = operands_[first + i].emitted(e_);
        result.value = expression(id, values);
      }
    }
    operands_.resize(first);
    operands_.push_back(std::move(result));
  }
  Operand result = std::move(operands_.back());
  operands_.resize(bottom);
  return result;
}

std::optional<ir::Literal> ExpressionWriter::folded(ir::ExprId id,
                                                    std::span<const Operand> operands) const {
  std::array<ir::Literal, 3> literals;
  if (operands.size() > literals.size()) return std::nullopt;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].literal) return std::nullopt;
    literals[i] = *operands[i].literal;
  }
  return arithmetic::fold(program_, id, std::span(literals).first(operands.size()));
}

Value ExpressionWriter::expression(ir::ExprId id, std::span<const Value> operands) {
  const ir::Expr& expr = program_.expr(id);
  const auto word = [](Word value) { return Value(Type::U32, value); };
  switch (expr.kind) {
    case ExprKind::Literal:
    case ExprKind::Var:
      break;  // evaluate_operand has them
    case ExprKind::Load:
      if (segment_.parameters == expr.ref) return word(supplied(operands[0].word().constant));
      return buffers_.load(expr.ref, operands[0].word(), plan_.bounds.exprs[id]);
    case ExprKind::BufLen:
      return word(interface_.length(expr.ref));
    case ExprKind::InvocationId:
      return word(interface_.invocation(expr.aux));
    case ExprKind::WorkgroupId:
      return word(interface_.workgroup(expr.aux));
    case ExprKind::LocalId:
      return word(interface_.local(expr.aux));
    case ExprKind::NumWorkgroups:
      return word(interface_.grid(expr.aux));
    case ExprKind::WorkgroupSize:
      return word(interface_.workgroup_size(expr.aux));
    case ExprKind::SubgroupLocalId:
      return word(subgroups_.own_lane());
    case ExprKind::SubgroupSize:
      return word(e_.word(e_.mask().subgroup_size));
    case ExprKind::Binary:
      return lower_binary(expr.binary(), operands[0], operands[1]);
    case ExprKind::Unary:
      return lower_unary(expr.unary(), operands[0]);
    case ExprKind::Select:
      return lower_select(operands[0].flag(), operands[1], operands[2]);
    case ExprKind::Cast:
      return lower_cast(expr.type, operands[0]);
    case ExprKind::Bitcast:
      return lower_bitcast(expr.type, operands[0]);
    case ExprKind::Fma:
      return lower_fma(operands[0], operands[1], operands[2]);
    case ExprKind::Atomic: {
      const bool compares = expr.atomic() == ir::AtomicOp::CompareExchange;
      const auto expected = compares ? std::optional(operands[1]) : std::nullopt;
      return buffers_.atomic(expr.atomic(), expr.ordering(), expr.ref, operands[0].word(), expected,
                             operands.back(), plan_.bounds.exprs[id]);
    }
    case ExprKind::SubgroupBallot:
      return subgroups_.ballot(operands[0].flag());
    case ExprKind::SubgroupShuffle:
      return subgroups_.shuffle(operands[0], operands[1].word());
    case ExprKind::SubgroupReduce:
      return subgroups_.reduce(expr.reduce(), operands[0]);
    case ExprKind::Call:
      return call(expr, operands);
  }
  return {};
}

// check_segment has seen that the index is a literal.
Word ExpressionWriter::supplied(std::uint32_t index) {
  const bool inside = index < program_.buffer(*segment_.parameters).count;
  return inside ? interface_.supplied(index) : e_.word(0);
}

Value ExpressionWriter::call(const ir::Expr& expr, std::span<const Value> operands) {
  std::vector<Id> arguments;
  for (const Value& operand : operands) {
    arguments.push_back(operand.id());
    if (operand.is_pair()) arguments.push_back(operand.wide().high.id());
  }
  const Id callee = op_function(expr.ref);
  const Id type = e_.type_of(expr.type);
  return value_from_vector(e_, expr.type, e_.function().call(type, {callee}, arguments));
}

// An operation becomes a function of the module. It can call only operations declared before it, so
// writing one never comes back to itself.
Id ExpressionWriter::op_function(ir::OpId id) {
  if (op_functions_[id] != 0) return op_functions_[id];
  const ir::OpDecl& op = program_.ops()[id];
  std::vector<Id> types;
  for (std::uint32_t i = 0; i < op.param_count; ++i) {
    const Type type = program_.var(op.first_param + i).type;
    const bool pair = is_held_as_pair(e_, type);
    types.insert(types.end(), pair ? 2 : 1, pair ? e_.type_word() : e_.type_of(type));
  }
  const auto write_body = [&](FunctionWriter& function, OpenBlock block) {
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < op.param_count; ++i) {
      const ir::VarId variable = op.first_param + i;
      const Type type = program_.var(variable).type;
      const bool pair = is_held_as_pair(e_, type);
      const Id low = function.param(next++);
      const Id high = pair ? function.param(next++) : 0;
      e_.module().name(low, program_.var_name(variable));
      variables_.bind_parameter(variable, value_from_parts(e_, type, low, high));
    }
    Flow end = write_statements_(std::move(block), op.body);
    const Value result = evaluate(op.result);
    const Id given = result.is_pair() ? vector_of_words(result.wide()) : result.id();
    function.emit_return(std::move(*end), given);  // an operation has no return but this one
  };
  op_functions_[id] =
      e_.write_function(program_.name(op.name), e_.type_of(op.result_type), types, write_body);
  return op_functions_[id];
}

}  // namespace felsite::codegen
