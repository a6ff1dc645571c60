#include <algorithm>
#include <utility>

#include "codegen/kernel/kernel_writer.h"

namespace felsite::codegen {

using ir::NodeKind;

KernelWriter::KernelWriter(Emitter& emitter, Interface& interface, Buffers& buffers,
                           const Segment& segment, const Plan& plan, const LowerOptions& options)
    : e_(emitter),
      interface_(interface),
      buffers_(buffers),
      segment_(segment),
      program_(segment.program),
      plan_(plan),
      bound_(program_.vars().size()),
      slots_(program_.vars().size()),
      op_functions_(program_.ops().size(), 0) {
  if (options.names && !program_.source().empty()) {
    source_file_ = e_.module().source_file(options.source_name);
  }
}

Id KernelWriter::write() {
  FunctionWriter main(e_.module(), e_.type_void(), {});
  e_.module().name(main.id(), program_.name());
  constexpr std::size_t kWordsForRow = 6;
  main.expect_words(program_.exprs().size() * kWordsForRow);
  e_.write_to(&main);
  if (plan_.turns > 1) {
    turn_ = new_variable(e_.type_word(), true);
    e_.module().name(turn_, "turn");
    interface_.set_turn(turn_);
  }
  if (program_.facts().has_trap && program_.facts().has_grid_sync) {
    closed_ = new_variable(e_.type_bool(), true);
    e_.module().name(closed_, "closed");
    e_.store(closed_, e_.flag(false).id);
    interface_.set_closed(closed_);
  }
  if (segment_.one_workgroup && segment_.one_workgroup->iterations) {
    write_iterations(*segment_.one_workgroup->iterations);
  } else {
    buffers_.zero_workgroup_memory(plan_.zeroed);
    write_whole();
  }
  if (main.open()) main.give_back();
  main.finish();
  e_.write_to(nullptr);
  return main.id();
}

// The program from its start to its end, once.
void KernelWriter::write_whole() {
  if (program_.facts().has_async) make_copies();
  if (plan_.runs.needed) {
    write_runs(plan_.nodes);
  } else {
    statements(plan_.nodes);
  }
}

// What follows a construct that nothing comes out of is never reached, and not written.
void KernelWriter::statements(ir::NodeRange range) {
  for (ir::NodeId id = range.begin; id < range.end && e_.function().open();
       id = program_.node(id).end) {
    statement(id);
  }
}

void KernelWriter::mark_line(ir::NodeId id) {
  if (source_file_ == 0) return;
  const ir::LineColumn at = ir::line_column(program_.source(), program_.source().nodes[id]);
  e_.function().line(source_file_, at.line, at.column);
}

void KernelWriter::statement(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  mark_line(id);
  switch (node.kind) {
    case NodeKind::Let: {
      const Id next = e_.module().next_id();
      Operand operand = evaluate_operand(node.args[0]);
      const bool is_value = operand.value && !program_.var(node.ref).assigned;
      if (is_value && e_.module().names_kept() && operand.value->id() >= next) {
        e_.module().name(operand.value->id(), program_.var_name(node.ref));
      }
      bind(node.ref, std::move(operand));
      break;
    }
    case NodeKind::Assign:
      assign(node.ref, evaluate(node.args[0]));
      break;
    case NodeKind::Store: {
      const Value index = evaluate(node.args[0]);
      const Value value = evaluate(node.args[1]);
      buffers_.store(node.ref, index.word(), value, plan_.bounds.nodes[id]);
      break;
    }
    case NodeKind::If:
      branch(id);
      break;
    case NodeKind::Loop:
      loop(id);
      break;
    case NodeKind::Return:
      leave();
      break;
    case NodeKind::Block:
    case NodeKind::Region:
      statements(program_.then_body(id));
      break;
    case NodeKind::Barrier:
      write_barrier(id);
      break;
    case NodeKind::AsyncLoad:
    case NodeKind::AsyncStore:
      issue_copy(id);
      break;
    case NodeKind::AsyncWait:
      finish_copies(id);
      break;
    case NodeKind::Trap:
      trap(id);
      break;
    case NodeKind::IndirectDispatch:  // a matter of how the kernel is launched
    case NodeKind::Resume:            // a mark for the host
      break;
    case NodeKind::AllReduce:
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
    case NodeKind::Broadcast:
      break;  // refused by check_requirements
  }
}

void KernelWriter::branch(ir::NodeId id) {
  FunctionWriter& f = e_.function();
  end_segment_at(id);
  const Value condition = evaluate(program_.node(id).args[0]);
  const ir::NodeRange otherwise = program_.else_body(id);
  const Id then_block = e_.module().new_id();
  const Id merge = e_.module().new_id();
  const Id else_block = otherwise.empty() ? merge : e_.module().new_id();
  f.branch_if(condition.id(), then_block, else_block, merge);
  bool comes_out = otherwise.empty();
  f.begin(then_block);
  statements(program_.then_body(id));
  if (f.open()) {
    comes_out = true;
    f.branch(merge);
  }
  if (!otherwise.empty()) {
    f.begin(else_block);
    const bool trapped = plan_.runs.cut[id] && std::exchange(trapped_in_segment_, false);
    statements(otherwise);
    trapped_in_segment_ = trapped_in_segment_ || trapped;
    if (f.open()) {
      comes_out = true;
      f.branch(merge);
    }
  }
  f.begin(merge);
  if (!comes_out) return f.unreachable();
  end_segment_at(id);
}

void KernelWriter::loop(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  const Word from = evaluate(node.args[0]).word();
  const Word to = evaluate(node.args[1]).word();
  end_segment_at(id);
  loop_trips(id, from, to);
  if (e_.function().open()) end_segment_at(id);
}

// A trip of an unrolled loop, whose bounds are constants, is several of the body's; what is left
// over follows it.
void KernelWriter::loop_trips(ir::NodeId id, Word from, Word to) {
  const ir::Node& node = program_.node(id);
  const ir::NodeRange body = program_.then_body(id);
  const auto trip = [&](Word index) {
    bind(node.ref, {ir::Type::U32, index});
    statements(body);
    if (e_.function().open()) end_segment_at(id);
  };
  const std::uint32_t copies = plan_.loops.unrolled[id];
  Word rolled_end = to;
  if (copies > 1) {
    const std::uint32_t count = to.constant - from.constant;
    rolled_end = e_.word(to.constant - count % copies);
  }
  const Word ended = e_.repeat(from, rolled_end, e_.word(copies), [&](Word index) {
    if (e_.module().names_kept()) {
      e_.module().name(index.id(), program_.var_name(node.ref));
    }
    open_loops_.push_back({id, from, index});
    for (std::uint32_t copy = 0; copy < copies && e_.function().open(); ++copy) {
      trip(index + copy);
    }
    open_loops_.pop_back();
  });
  count_trips(id, from, ended);
  check_loop_ended(ended, rolled_end);
  if (copies > 1) {
    for (std::uint32_t rest = rolled_end.constant; rest != to.constant && e_.function().open();
         ++rest) {
      trip(e_.word(rest));
    }
  }
}

// A driver with a loop budget leaves the loop although there are trips to go.
void KernelWriter::check_loop_ended(Word index, Word to) {
  if (!plan_.loops.checked) return;
  e_.when(index < to, [&] { interface_.report_loop_budget(); });
}

// In a run, the caller learns that the invocation is through.
void KernelWriter::leave() {
  count_open_loops();
  if (plan_.runs.needed) {
    e_.function().give_back(e_.flag(false).id);
  } else {
    e_.function().give_back();
  }
}

void KernelWriter::trap(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  const std::string tag(program_.name(node.name));
  auto found = std::ranges::find(trap_tags_, tag);
  if (found == trap_tags_.end()) found = trap_tags_.insert(found, tag);
  const auto index = static_cast<std::uint32_t>(found - trap_tags_.begin());
  const Value address = evaluate(node.args[0]);
  interface_.report_trap(index, address.word());
  trapped_in_segment_ = true;
  leave();
}

}  // namespace felsite::codegen
