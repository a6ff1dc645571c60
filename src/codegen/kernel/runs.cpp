// Barriers behind divergent returns, and several invocations in a lane.
//
// Every invocation of a workgroup has to reach a barrier, those that have returned too. So the
// entry is cut at its barriers into runs, each a function that tells whether the invocation still
// runs. The entry point calls them one after the other as long as that is so, and all lanes go
// through the barriers together. A condition or bound around a barrier is the same for all that
// run, but only they can compute it: they tell the others through workgroup memory.
//
// A lane with several invocations calls each run for one after the other. What outlives a run has a
// place for each of them.
#include "codegen/kernel/kernel_writer.h"

namespace felsite::codegen {

using ir::ExprKind;
using ir::NodeKind;

namespace {

// Whether an invocation that has returned computes it as well as any other.
bool known_to_all(const ir::Program& program, ir::ExprId root) {
  for (ir::ExprId id = program.first_row(root); id <= root; ++id) {
    switch (program.expr(id).kind) {
      case ExprKind::Literal:
      case ExprKind::BufLen:
      case ExprKind::WorkgroupId:
      case ExprKind::NumWorkgroups:
      case ExprKind::WorkgroupSize:
      case ExprKind::Binary:
      case ExprKind::Unary:
      case ExprKind::Select:
      case ExprKind::Cast:
        break;
      case ExprKind::Var:
      case ExprKind::Load:
      case ExprKind::InvocationId:
      case ExprKind::LocalId:
      case ExprKind::SubgroupLocalId:
      case ExprKind::SubgroupSize:
      case ExprKind::Bitcast:
      case ExprKind::Fma:
      case ExprKind::Atomic:
      case ExprKind::SubgroupBallot:
      case ExprKind::SubgroupShuffle:
      case ExprKind::SubgroupReduce:
      case ExprKind::Call:
        return false;
    }
  }
  return true;
}

}  // namespace

Id KernelWriter::new_variable_per_turn(Id type) {
  return new_variable(e_.module().type_array(type, e_.word(plan_.turns).id()), true);
}

Id KernelWriter::at_turn(Id variable, Id type) {
  const Id pointer = e_.module().type_pointer(spv::StorageClass::Private, type);
  return e_.function().access(pointer, {variable, e_.load(e_.type_word(), turn_)});
}

// Whether the invocation at work has not returned yet: where that is kept.
Id KernelWriter::running() {
  return plan_.turns > 1 ? at_turn(running_, e_.type_bool()) : running_;
}

void KernelWriter::start_running() {
  if (plan_.turns == 1) {
    running_ = new_variable(e_.type_bool(), true);
    e_.store(running_, e_.flag(true).id);
  } else {
    running_ = new_variable_per_turn(e_.type_bool());
    const Word all = e_.word(static_cast<std::uint32_t>(plan_.folding->invocations));
    for (std::uint32_t turn = 0; turn < plan_.turns; ++turn) {
      e_.store(turn_, e_.word(turn).id());
      const Word number = plan_.folding->number(interface_.local_index(), e_.word(turn));
      const Flag exists = turn + 1 < plan_.turns ? e_.flag(true) : number < all;
      e_.store(running(), exists.id);
    }
  }
  e_.module().name(running_, "running");
}

// For each invocation of the lane that still runs.
template <class Body>
void KernelWriter::while_running(Body body) {
  const auto act = [&] { e_.when(e_.as_flag(e_.load(e_.type_bool(), running())), body); };
  if (plan_.turns == 1) return act();
  const Word turns = e_.word(plan_.turns);
  const Word ended = e_.repeat(e_.word(0), turns, e_.word(1), [&](Word turn) {
    e_.store(turn_, turn.id());
    act();
  });
  check_loop_ended(ended, turns);
}

void KernelWriter::write_runs(ir::NodeRange range) {
  if (running_ == 0) start_running();
  ir::NodeId begin = range.begin;
  for (ir::NodeId id = range.begin; id < range.end; id = program_.node(id).end) {
    if (!plan_.runs.has_barrier[id]) continue;
    write_run({begin, id});
    write_barrier_construct(id);
    begin = program_.node(id).end;
  }
  write_run({begin, range.end});
}

void KernelWriter::write_run(ir::NodeRange range) {
  if (range.empty()) return;
  const Id run =
      e_.write_function("run", e_.type_bool(), {}, [&](FunctionWriter& f, OpenBlock block) {
        const std::vector<OpenLoop> loops_of_caller = std::exchange(open_loops_, {});
        Flow end = statements(std::move(block), range);
        open_loops_ = loops_of_caller;
        if (end) f.emit_return(std::move(*end), e_.flag(true).id);
      });
  while_running([&] { e_.store(running(), e_.function().call(e_.type_bool(), {run})); });
}

void KernelWriter::write_barrier_construct(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  mark_line(id);
  if (node.kind == NodeKind::Barrier) return write_barrier(id);
  end_segment_at(id);
  if (node.kind == NodeKind::Loop) {
    const Word from = agreed(node.args[0]);
    const Word to = agreed(node.args[1]);
    const Word ended = e_.repeat(from, to, e_.word(1), [&](Word index) {
      bind_for_all_turns(node.ref, index);
      write_runs(program_.then_body(id));
      end_segment_at(id);
    });
    count_trips(id, from, ended);
    check_loop_ended(ended, to);
    return end_segment_at(id);
  }
  if (node.kind != NodeKind::If) return write_runs(program_.then_body(id));
  const Flag condition = agreed(node.args[0]) != 0U;
  e_.function().either(
      condition.id, [&] { write_runs(program_.then_body(id)); },
      [&] {
        const bool trapped = plan_.runs.cut[id] && std::exchange(trapped_in_segment_, false);
        write_runs(program_.else_body(id));
        trapped_in_segment_ = trapped_in_segment_ || trapped;
      });
  end_segment_at(id);
}

void KernelWriter::write_barrier(ir::NodeId id) {
  buffers_.barrier();
  if (plan_.runs.cut[id]) close_reports();
}

// Where a segment ends without a barrier.
void KernelWriter::end_segment_at(ir::NodeId id) {
  if (!plan_.runs.cut[id] || !trapped_in_segment_) return;
  buffers_.barrier();
  close_reports();
}

// Behind a barrier: if anybody has trapped, no later segment counts. Nobody may trap in the next
// one before all have looked.
void KernelWriter::close_reports() {
  if (!trapped_in_segment_) return;
  const Flag before = e_.as_flag(e_.load(e_.type_bool(), closed_));
  e_.store(closed_, (before || interface_.has_report()).id);
  buffers_.barrier();
  trapped_in_segment_ = false;
}

// A condition gives 0 or 1. Where nobody runs any more it is 0, and so are both bounds of a loop.
Word KernelWriter::agreed(ir::ExprId root) {
  if (known_to_all(program_, root)) return word_of(root);
  if (agreed_word_ == 0) agreed_word_ = buffers_.workgroup_words(1, "agreed");
  const Word only = e_.word(0);
  buffers_.barrier();  // what was told before has been read
  e_.when(interface_.local_index() == 0U, [&] { tell(agreed_word_, only, e_.word(0)); });
  buffers_.barrier();
  while_running(
      [&] { tell(agreed_word_, only, plan_.turns > 1 ? word_at_turn(root) : word_of(root)); });
  buffers_.barrier();
  return told(agreed_word_, only);
}

Word KernelWriter::word_of(ir::ExprId root) {
  const Value value = evaluate(root);
  if (value.type != ir::Type::Bool) return value.word();
  return select(value.flag(), e_.word(1), e_.word(0));
}

// Ids are those of the turn in which a function is called.
Word KernelWriter::word_at_turn(ir::ExprId root) {
  const Id function =
      e_.write_function("agreed", e_.type_word(), {}, [&](FunctionWriter& f, OpenBlock block) {
        f.emit_return(std::move(block), word_of(root).id());
      });
  return e_.as_word(e_.function().call(e_.type_word(), {function}));
}

// Atomic, as several lanes may tell the same at once.
void KernelWriter::tell(Id words, Word index, Word value) {
  const Id place = buffers_.workgroup_word(words, index);
  e_.function().atomic_store(
      {place, e_.word(as_operand(spv::Scope::Workgroup)).id(), e_.word(0).id(), value.id()});
}

Word KernelWriter::told(Id words, Word index) { return buffers_.load_workgroup_word(words, index); }

}  // namespace felsite::codegen
