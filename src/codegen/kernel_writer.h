// Writes the functions of a kernel: statements and expressions of the IR, in their order.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codegen/buffers.h"
#include "codegen/interface.h"
#include "codegen/plan.h"
#include "codegen/value.h"

namespace felsite::codegen {

class KernelWriter {
 public:
  KernelWriter(Emitter& emitter, Interface& interface, Buffers& buffers, const Segment& segment,
               const Plan& plan, const LowerOptions& options);

  // The entry point with everything it calls. Gives its id.
  Id write();
  std::vector<std::string> take_trap_tags() { return std::move(trap_tags_); }

 private:
  // A value, or as long as nothing needs it on the device, the literal it is.
  struct Operand {
    std::optional<ir::Literal> literal;
    std::optional<Value> value;
  };
  // A variable that is assigned to, or that outlives the function it is declared in.
  struct Slot {
    Id low = 0;
    Id high = 0;  // the high word of a pair
  };
  // A copy statement: what it captured, and where that will go.
  struct Copy {
    ir::NameId tag = 0;
    ir::NodeId node = 0;
    ir::Type type = ir::Type::None;
    bool is_pair = false;
    Id part_type = 0;
    Id part_pointer = 0;
    Id pending = 0;
    Id index = 0;
    std::array<Id, 2> payload{};
  };

  // expressions.cpp
  Value evaluate(ir::ExprId root) { return emitted(evaluate_operand(root)); }
  Operand evaluate_operand(ir::ExprId root);
  std::optional<ir::Literal> folded(ir::ExprId id, std::span<const Operand> operands) const;
  const Value& emitted(Operand& operand);
  Value emitted(Operand&& operand) { return emitted(operand); }
  Value expression(ir::ExprId id, std::span<const Value> operands);
  Value call(const ir::Expr& expr, std::span<const Value> operands);
  Id op_function(ir::OpId op);
  Operand read(ir::VarId variable);
  void bind(ir::VarId variable, Operand operand);
  void bind(ir::VarId variable, const Value& value) { bind(variable, Operand{{}, value}); }
  void assign(ir::VarId variable, const Value& value);
  Id new_variable(Id type, bool persistent);
  Slot new_slot(ir::Type type, bool persistent);
  Value load_slot(const Slot& slot, ir::Type type);
  void store_slot(const Slot& slot, const Value& value);
  Value from_parts(ir::Type type, Id low, Id high);
  Value from_vector(ir::Type type, Id id);

  // statements.cpp
  void statements(ir::NodeRange range);
  void statement(ir::NodeId id);
  void branch(ir::NodeId id);
  void loop(ir::NodeId id);
  void loop_trips(ir::NodeId id, Word from, Word to);
  void leave();
  void trap(ir::NodeId id);
  void mark_line(ir::NodeId id);
  void check_loop_ended(Word index, Word to);

  // runs.cpp: barriers behind divergent returns
  void write_runs(ir::NodeRange range);
  void write_run(ir::NodeRange range);
  void write_barrier_construct(ir::NodeId id);
  Word agreed(ir::ExprId root);
  template <class Body>
  void while_running(Body body);

  // async_copies.cpp
  void make_copies();
  void issue_copy(ir::NodeId id);
  void finish_copies(ir::NodeId id);
  template <class Body>
  void each_copied(std::uint32_t count, Body body);

  // subgroups.cpp
  Value subgroup(const ir::Expr& expr, std::span<const Value> operands);
  Value native_ballot(Flag condition);
  Value native_shuffle(const Value& value, Word lane);
  Value native_reduce(ir::ReduceOp op, const Value& value);
  Value emulated_ballot(Flag condition);
  Value emulated_shuffle(const Value& value, Word lane);
  Value emulated_reduce(ir::ReduceOp op, const Value& value);
  Word subgroup_lane();
  void exchange(const Value& value);
  Value exchanged(ir::Type type, Word invocation);
  Value lane_value(const Value& value, Word lane);
  template <class Body>
  void each_lane_of_subgroup(Body body);

  Emitter& e_;
  Interface& interface_;
  Buffers& buffers_;
  const Segment& segment_;
  const ir::Program& program_;
  const Plan& plan_;
  std::vector<Operand> operands_;  // not yet used
  std::vector<Operand> bound_;     // by VarId, of variables that are never assigned
  std::vector<Slot> slots_;        // by VarId
  std::vector<Id> op_functions_;   // by OpId
  std::vector<Copy> copies_;       // by tag, then in program order
  std::vector<std::string> trap_tags_;
  Id source_file_ = 0;
  Id running_ = 0;          // whether this invocation has not returned yet
  Id agreed_word_ = 0;      // workgroup memory through which running invocations tell the others
  Id exchange_memory_ = 0;  // workgroup memory of emulated subgroups
};

}  // namespace felsite::codegen
