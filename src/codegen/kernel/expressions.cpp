#include "arithmetic/fold.h"
#include "codegen/kernel/kernel_writer.h"
#include "codegen/values/float_bits.h"

namespace felsite::codegen {

using ir::ExprKind;
using ir::Type;

// Rows stand in evaluation order, every operand before what uses it, so a stack is all it takes.
// What is made of literals only is computed here, by the reference's arithmetic: the folding in
// drivers is where they differ from what their devices do.
KernelWriter::Operand KernelWriter::evaluate_operand(ir::ExprId root) {
  const std::size_t bottom = operands_.size();
  for (ir::ExprId id = program_.first_row(root); id <= root; ++id) {
    const std::size_t arity = program_.operands(id).size();
    const std::size_t first = operands_.size() - arity;
    Operand result;
    if (program_.expr(id).kind == ExprKind::Var) {
      result = read(program_.expr(id).ref);
    } else {
      result.literal = folded(id, std::span(operands_).subspan(first));
      if (!result.literal) {
        // Only calls have more; what is emitted for one may move the stack.
        std::array<Value, 3> few;
        std::vector<Value> many(arity > few.size() ? arity : 0);
        const std::span<Value> values = many.empty() ? std::span(few).first(arity) : many;
        for (std::size_t i = 0; i < arity; ++i) values[i] = emitted(operands_[first + i]);
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

std::optional<ir::Literal> KernelWriter::folded(ir::ExprId id,
                                                std::span<const Operand> operands) const {
  std::array<ir::Literal, 3> literals;
  if (operands.size() > literals.size()) return std::nullopt;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].literal) return std::nullopt;
    literals[i] = *operands[i].literal;
  }
  return arithmetic::fold(program_, id, std::span(literals).first(operands.size()));
}

const Value& KernelWriter::emitted(Operand& operand) {
  if (!operand.value) {
    operand.value = lower_literal(e_, operand.literal->type, operand.literal->bits);
  }
  return *operand.value;
}

Value KernelWriter::expression(ir::ExprId id, std::span<const Value> operands) {
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
      return word(subgroup_lane());
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
    case ExprKind::SubgroupShuffle:
    case ExprKind::SubgroupReduce:
      return subgroup(expr, operands);
    case ExprKind::Call:
      return call(expr, operands);
  }
  return {};
}

// check_segment has seen that the index is a literal.
Word KernelWriter::supplied(std::uint32_t index) {
  const bool inside = index < program_.buffer(*segment_.parameters).count;
  return inside ? interface_.supplied(index) : e_.word(0);
}

Value KernelWriter::from_parts(Type type, Id low, Id high) {
  if (high != 0) return {type, wide(e_.as_word(low), e_.as_word(high))};
  if (type == Type::Bool) return {type, e_.as_flag(low)};
  if (is_wide_integer(type)) return {type, e_.as_wide(low)};
  if (type == Type::F64) return {type, e_.as_double(low)};
  if (ir::is_float(type)) return {type, e_.as_float(low)};
  return {type, e_.as_word(low)};
}

// A pair comes out of a function as a vector.
Value KernelWriter::from_vector(Type type, Id id) {
  if (!is_wide_integer(type) || e_.has(Feature::Int64)) return from_parts(type, id, 0);
  const Id low = e_.function().extract(e_.type_word(), {id, 0});
  return from_parts(type, low, e_.function().extract(e_.type_word(), {id, 1}));
}

// Persistent: seen by all functions of the kernel.
Id KernelWriter::new_variable(Id type, bool persistent) {
  if (!persistent) return e_.function().local(type);
  constexpr auto kPrivate = spv::StorageClass::Private;
  return e_.module().variable(kPrivate, e_.module().type_pointer(kPrivate, type));
}

KernelWriter::Slot KernelWriter::new_slot(Type type, bool persistent) {
  const bool per_turn = persistent && plan_.turns > 1;
  const auto make = [&](Id part) {
    return per_turn ? new_variable_per_turn(part) : new_variable(part, persistent);
  };
  const bool pair = is_wide_integer(type) && !e_.has(Feature::Int64);
  if (!pair) return {make(e_.type_of(type)), 0, per_turn};
  const Id low = make(e_.type_word());
  return {low, make(e_.type_word()), per_turn};
}

Value KernelWriter::load_slot(const Slot& slot, Type type) {
  const auto part = [&](Id variable, Id part_type) {
    return e_.load(part_type, slot.per_turn ? at_turn(variable, part_type) : variable);
  };
  if (slot.high == 0) return from_parts(type, part(slot.low, e_.type_of(type)), 0);
  const Id low = part(slot.low, e_.type_word());
  return from_parts(type, low, part(slot.high, e_.type_word()));
}

void KernelWriter::store_slot(const Slot& slot, const Value& value) {
  const auto store = [&](Id variable, Id part_type, Id part) {
    e_.store(slot.per_turn ? at_turn(variable, part_type) : variable, part);
  };
  if (slot.high == 0) return store(slot.low, e_.type_of(value.type), value.id());
  store(slot.low, e_.type_word(), value.id());
  store(slot.high, e_.type_word(), value.wide().high.id());
}

KernelWriter::Operand KernelWriter::read(ir::VarId variable) {
  const Slot& slot = slots_[variable];
  if (slot.low != 0) return {{}, load_slot(slot, program_.var(variable).type)};
  return bound_[variable];
}

void KernelWriter::bind(ir::VarId variable, Operand operand) {
  const ir::Variable& declared = program_.var(variable);
  const bool persistent = plan_.runs.persistent[variable];
  // A literal is the same in every function.
  if (!declared.assigned && (!persistent || operand.literal)) {
    bound_[variable] = std::move(operand);
    return;
  }
  Slot& slot = slots_[variable];
  if (slot.low == 0) {
    slot = new_slot(declared.type, persistent);
    e_.module().name(slot.low, program_.var_name(variable));
  }
  store_slot(slot, emitted(operand));
}

// A loop's variable in the entry point, which all invocations of the lane read.
void KernelWriter::bind_for_all_turns(ir::VarId variable, Word value) {
  if (plan_.turns == 1 || !plan_.runs.persistent[variable]) {
    return bind(variable, {Type::U32, value});
  }
  Slot& slot = slots_[variable];
  if (slot.low == 0) {
    slot.low = new_variable(e_.type_word(), true);
    e_.module().name(slot.low, program_.var_name(variable));
  }
  store_slot(slot, {Type::U32, value});
}

void KernelWriter::assign(ir::VarId variable, const Value& value) {
  store_slot(slots_[variable], value);
}

Value KernelWriter::call(const ir::Expr& expr, std::span<const Value> operands) {
  std::vector<Id> arguments;
  for (const Value& operand : operands) {
    arguments.push_back(operand.id());
    if (operand.is_pair()) arguments.push_back(operand.wide().high.id());
  }
  const Id callee = op_function(expr.ref);
  const Id type = e_.type_of(expr.type);
  return from_vector(expr.type, e_.function().call(type, {callee}, arguments));
}

// An operation is a function of the module. It can call only those declared before it, so the
// writing of one never comes back to it.
Id KernelWriter::op_function(ir::OpId id) {
  if (op_functions_[id] != 0) return op_functions_[id];
  const ir::OpDecl& op = program_.ops()[id];
  std::vector<Id> types;
  for (std::uint32_t i = 0; i < op.param_count; ++i) {
    const Type type = program_.var(op.first_param + i).type;
    const bool pair = is_wide_integer(type) && !e_.has(Feature::Int64);
    types.insert(types.end(), pair ? 2 : 1, pair ? e_.type_word() : e_.type_of(type));
  }
  const auto write_body = [&](FunctionWriter& function, OpenBlock block) {
    std::size_t next = 0;
    for (std::uint32_t i = 0; i < op.param_count; ++i) {
      const ir::VarId variable = op.first_param + i;
      const Type type = program_.var(variable).type;
      const bool pair = is_wide_integer(type) && !e_.has(Feature::Int64);
      const Id low = function.param(next++);
      const Id high = pair ? function.param(next++) : 0;
      e_.module().name(low, program_.var_name(variable));
      bound_[variable] = {{}, from_parts(type, low, high)};
    }
    Flow end = statements(std::move(block), op.body);
    const Value result = evaluate(op.result);
    Id given = result.id();
    if (result.is_pair()) {
      const Id high = result.wide().high.id();
      given = function.construct(e_.type_word_pair(), {given, high});
    }
    function.emit_return(std::move(*end), given);  // an operation has no return but this one
  };
  op_functions_[id] =
      e_.write_function(program_.name(op.name), e_.type_of(op.result_type), types, write_body);
  return op_functions_[id];
}

}  // namespace felsite::codegen
