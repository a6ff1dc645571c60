// Barriers behind divergent returns.
//
// Every invocation of a workgroup has to reach a barrier, those that have returned too. So the
// entry is cut at its barriers into runs, each a function that tells whether the invocation still
// runs. The entry point calls them in turn as long as that is so, and all invocations go through
// the barriers together. A condition or bound around a barrier is the same for all that run, but
// only they can compute it: they tell the others through workgroup memory.
#include "codegen/kernel_writer.h"

namespace felsite::codegen {

using ir::ExprKind;
using ir::NodeKind;
using spv::Op;

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

std::uint32_t bits(auto value) { return static_cast<std::uint32_t>(value); }

}  // namespace

template <class Body>
void KernelWriter::while_running(Body body) {
  e_.when(e_.as_flag(e_.load(e_.type_bool(), running_)), body);
}

void KernelWriter::write_runs(ir::NodeRange range) {
  if (running_ == 0) {
    running_ = new_slot(ir::Type::Bool, true).low;
    e_.module().name(running_, "running");
    e_.store(running_, e_.flag(true).id);
  }
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
  FunctionWriter run(e_.module(), e_.type_bool(), {});
  e_.module().name(run.id(), "run");
  FunctionWriter* const caller = e_.write_to(&run);
  statements(range);
  if (run.open()) run.give_back(e_.flag(true).id);
  run.finish();
  e_.write_to(caller);
  while_running(
      [&] { e_.store(running_, e_.emit(Op::OpFunctionCall, e_.type_bool(), {run.id()})); });
}

void KernelWriter::write_barrier_construct(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  mark_line(id);
  if (node.kind == NodeKind::Barrier) return buffers_.barrier();
  if (node.kind == NodeKind::Loop) {
    const Word from = agreed(node.args[0]);
    const Word to = agreed(node.args[1]);
    const Word ended = e_.repeat(from, to, e_.word(1), [&](Word index) {
      bind(node.ref, {ir::Type::U32, index});
      write_runs(program_.then_body(id));
    });
    return check_loop_ended(ended, to);
  }
  if (node.kind != NodeKind::If) return write_runs(program_.then_body(id));
  const Flag condition = agreed(node.args[0]) != 0U;
  FunctionWriter& f = e_.function();
  const Id then_block = e_.module().new_id();
  const Id else_block = e_.module().new_id();
  const Id merge = e_.module().new_id();
  f.branch_if(condition.id, then_block, else_block, merge);
  f.begin(then_block);
  write_runs(program_.then_body(id));
  f.branch(merge);
  f.begin(else_block);
  write_runs(program_.else_body(id));
  f.branch(merge);
  f.begin(merge);
}

// A condition gives 0 or 1. Where nobody runs any more it is 0, and so are both bounds of a loop.
Word KernelWriter::agreed(ir::ExprId root) {
  const auto as_word = [&](const Value& value) {
    if (value.type != ir::Type::Bool) return value.word();
    return select(value.flag(), e_.word(1), e_.word(0));
  };
  if (known_to_all(program_, root)) return as_word(evaluate(root));
  if (agreed_word_ == 0) agreed_word_ = buffers_.workgroup_words(1, "agreed");
  const Word scope = e_.word(bits(spv::Scope::Workgroup));
  const Word relaxed = e_.word(0);
  const auto tell = [&](Word value) {
    e_.function().act(Op::OpAtomicStore, {buffers_.workgroup_word(agreed_word_, e_.word(0)),
                                          scope.id(), relaxed.id(), value.id()});
  };
  buffers_.barrier();  // what was told before has been read
  e_.when(interface_.local_index() == 0U, [&] { tell(e_.word(0)); });
  buffers_.barrier();
  while_running([&] { tell(as_word(evaluate(root))); });
  buffers_.barrier();
  return e_.as_word(
      e_.emit(Op::OpAtomicLoad, e_.type_word(),
              {buffers_.workgroup_word(agreed_word_, e_.word(0)), scope.id(), relaxed.id()}));
}

}  // namespace felsite::codegen
