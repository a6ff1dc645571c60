#include "codegen/kernel/variables.h"

#include <utility>

namespace felsite::codegen {

using ir::Type;

Variables::Variables(const KernelPart& kernel)
    : KernelPart(kernel), bound_(program_.vars().size()), slots_(program_.vars().size()) {}

void Variables::declare_turn() {
  if (plan_.turns == 1) return;
  turn_ = new_variable(e_.type_word(), true);
  e_.module().name(turn_, "turn");
  interface_.set_turn(turn_);
}

Id Variables::new_variable(Id type, bool persistent) {
  if (!persistent) return e_.function().local(type);
  constexpr auto kPrivate = spv::StorageClass::Private;
  return e_.module().variable(kPrivate, e_.module().type_pointer(kPrivate, type));
}

Id Variables::new_variable_per_turn(Id type) {
  return new_variable(e_.module().type_array(type, e_.word(plan_.turns).id()), true);
}

Id Variables::at_turn(Id variable, Id type) {
  const Id pointer = e_.module().type_pointer(spv::StorageClass::Private, type);
  return e_.function().access(pointer, {variable, e_.load(e_.type_word(), turn_)});
}

Slot Variables::new_slot(Type type, bool persistent) {
  const bool per_turn = persistent && plan_.turns > 1;
  const auto make = [&](Id part) {
    return per_turn ? new_variable_per_turn(part) : new_variable(part, persistent);
  };
  if (!is_held_as_pair(e_, type)) return {make(e_.type_of(type)), 0, per_turn};
  const Id low = make(e_.type_word());
  return {low, make(e_.type_word()), per_turn};
}

Value Variables::load(const Slot& slot, Type type) {
  const auto part = [&](Id variable, Id part_type) {
    return e_.load(part_type, slot.per_turn ? at_turn(variable, part_type) : variable);
  };
  if (slot.high == 0) return value_from_parts(e_, type, part(slot.low, e_.type_of(type)), 0);
  const Id low = part(slot.low, e_.type_word());
  return value_from_parts(e_, type, low, part(slot.high, e_.type_word()));
}

void Variables::store(const Slot& slot, const Value& value) {
  const auto store_part = [&](Id variable, Id part_type, Id part) {
    e_.store(slot.per_turn ? at_turn(variable, part_type) : variable, part);
  };
  if (slot.high == 0) return store_part(slot.low, e_.type_of(value.type), value.id());
  store_part(slot.low, e_.type_word(), value.id());
  store_part(slot.high, e_.type_word(), value.wide().high.id());
}

Operand Variables::read(ir::VarId variable) {
  const Slot& slot = slots_[variable];
  if (slot.low != 0) return {{}, load(slot, program_.var(variable).type)};
  return bound_[variable];
}

void Variables::bind(ir::VarId variable, Operand operand) {
  const ir::Variable& declared = program_.var(variable);
  const bool persistent = plan_.regions.persistent[variable];
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
  store(slot, operand.emitted(e_));
}

void Variables::bind_for_all_turns(ir::VarId variable, Word value) {
  if (plan_.turns == 1 || !plan_.regions.persistent[variable]) {
    return bind(variable, {Type::U32, value});
  }
  Slot& slot = slots_[variable];
  if (slot.low == 0) {
    slot.low = new_variable(e_.type_word(), true);
    e_.module().name(slot.low, program_.var_name(variable));
  }
  store(slot, {Type::U32, value});
}

}  // namespace felsite::codegen
