// Writes the functions of a kernel: statements and expressions of the IR, in their order.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "codegen/kernel/buffers.h"
#include "codegen/kernel/interface.h"
#include "codegen/plan/plan.h"
#include "codegen/values/value.h"

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
    Id high = 0;            // the high word of a pair
    bool per_turn = false;  // arrays, with a place for each invocation of the lane
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
  Word supplied(std::uint32_t index);
  Value call(const ir::Expr& expr, std::span<const Value> operands);
  Id op_function(ir::OpId op);
  Operand read(ir::VarId variable);
  void bind(ir::VarId variable, Operand operand);
  void bind(ir::VarId variable, const Value& value) { bind(variable, Operand{{}, value}); }
  void bind_for_all_turns(ir::VarId variable, Word value);
  void assign(ir::VarId variable, const Value& value);
  Id new_variable(Id type, bool persistent);
  Id new_variable_per_turn(Id type);
  Id at_turn(Id variable, Id type);
  Slot new_slot(ir::Type type, bool persistent);
  Value load_slot(const Slot& slot, ir::Type type);
  void store_slot(const Slot& slot, const Value& value);
  Value from_parts(ir::Type type, Id low, Id high);
  Value from_vector(ir::Type type, Id id);

  // statements.cpp
  Flow write_entry(OpenBlock block);
  Flow write_whole(OpenBlock block);
  Flow statements(OpenBlock block, ir::NodeRange range);
  Flow statement(OpenBlock block, ir::NodeId id);
  Flow branch(OpenBlock block, ir::NodeId id);
  Flow loop(OpenBlock block, ir::NodeId id);
  Flow loop_trips(OpenBlock block, ir::NodeId id, Word from, Word to);
  void leave(OpenBlock block);
  void trap(OpenBlock block, ir::NodeId id);
  void mark_line(ir::NodeId id);
  void check_loop_ended(Word index, Word to);

  // runs.cpp: barriers behind divergent returns
  void write_runs(ir::NodeRange range);
  void write_run(ir::NodeRange range);
  void write_barrier_construct(ir::NodeId id);
  void write_barrier(ir::NodeId id);
  void end_segment_at(ir::NodeId id);
  void close_reports();
  Word agreed(ir::ExprId root);
  Word word_of(ir::ExprId root);
  Word word_at_turn(ir::ExprId root);
  void start_running();
  template <class Body>
  void while_running(Body body);
  Id running();
  // One lane tells all of them something through workgroup memory; barriers stand between.
  void tell(Id words, Word index, Word value);
  Word told(Id words, Word index);

  // iterations.cpp: many iterations over the program in one dispatch
  void write_iterations(const IterationLoop& loop);
  void begin_iterations(const IterationLoop& loop);
  void write_iteration();
  void end_iteration(const IterationLoop& loop);
  void look_for_changes(const IterationLoop& loop);
  bool sees_change_at_once(const IterationLoop& loop) const;
  Word turn_of_changes(const IterationLoop& loop);
  template <class Body>
  void each_shared(ir::BufferId buffer, Body body);

  // iteration_cost.cpp: what iterations take of a driver's loop budget
  void begin_counting();
  void count_trips(ir::NodeId loop, Word from, Word to);
  void count_open_loops();
  void share_counts();
  Flag fits_another_iteration(const IterationLoop& loop, Word ran);
  Word cost_of_iteration(const IterationLoop& loop);
  Word cost_of(ir::NodeRange range, bool in_run);
  Word cost_of_node(ir::NodeId id, bool in_run);
  Word trips_of_loop(ir::NodeId id);
  std::uint32_t cost_of_hidden_loops(ir::NodeId id) const;

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

  // A loop that is being written in this function.
  struct OpenLoop {
    ir::NodeId node;
    Word from;
    Word index;
  };
  // Of the loop of the iterations: variables of the entry point, the same in all lanes.
  struct IterationState {
    Id left = 0;
    Id ran = 0;
    Id goes_on = 0;
    Id converged = 0;
    Id spent = 0;  // of the loop budget
    Id changes =
        0;  // workgroup memory: whether an iteration changed something, for every other iteration
  };

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
  // Whether there is a trap in the segment that is being written.
  bool trapped_in_segment_ = false;
  Id closed_ = 0;  // whether an earlier segment trapped, where one kernel has several
  Id source_file_ = 0;
  Id running_ = 0;          // whether this invocation has not returned yet
  Id turn_ = 0;             // where a lane has several invocations, which of them is at work
  Id agreed_word_ = 0;      // workgroup memory through which running invocations tell the others
  Id exchange_memory_ = 0;  // workgroup memory of emulated subgroups
  IterationState iteration_;
  std::vector<OpenLoop> open_loops_;
  // Of loops whose trips are counted, the most at a time: of this invocation, what it has told of
  // them, and of the workgroup.
  std::vector<Id> counts_;
  std::vector<Id> told_counts_;
  Id shared_counts_ = 0;
};

}  // namespace felsite::codegen
