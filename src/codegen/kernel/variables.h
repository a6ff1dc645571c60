// The variables of a program: as values where they never change, else as variables of the module.
#pragma once

#include <optional>
#include <vector>

#include "codegen/kernel/kernel_part.h"

namespace felsite::codegen {

// A value, or the literal it is as long as nothing needs it on the device.
struct Operand {
  std::optional<ir::Literal> literal;
  std::optional<Value> value;

  const Value& emitted(Emitter& e) {
    if (!value) value = lower_literal(e, literal->type, literal->bits);
    return *value;
  }
};

// A variable of the module that holds a value of the IR.
struct Slot {
  Id low = 0;
  Id high = 0;            // the high word of a pair
  bool per_turn = false;  // arrays, with a place for each invocation of the lane
};

class Variables : KernelPart {
 public:
  explicit Variables(const KernelPart& kernel);

  // Where a lane has several invocations, they take turns, and a variable says whose turn it is.
  void declare_turn();
  void set_turn(Word turn) { e_.store(turn_, turn.id()); }

  Operand read(ir::VarId variable);
  void bind(ir::VarId variable, Operand operand);
  void bind(ir::VarId variable, const Value& value) { bind(variable, Operand{{}, value}); }
  // The variable of a loop in the entry point, which all invocations of the lane read.
  void bind_for_all_turns(ir::VarId variable, Word value);
  void bind_parameter(ir::VarId variable, const Value& value) { bound_[variable] = {{}, value}; }
  void assign(ir::VarId variable, const Value& value) { store(slots_[variable], value); }

  // Persistent: all functions of the kernel see it.
  Id new_variable(Id type, bool persistent);
  Id new_variable_per_turn(Id type);
  // The place of the invocation whose turn it is.
  Id at_turn(Id variable, Id type);

  Slot new_slot(ir::Type type, bool persistent);
  Value load(const Slot& slot, ir::Type type);
  void store(const Slot& slot, const Value& value);

 private:
  Id turn_ = 0;
  std::vector<Operand> bound_;  // by VarId, of variables that are never assigned
  std::vector<Slot> slots_;     // by VarId
};

}  // namespace felsite::codegen
