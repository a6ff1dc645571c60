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
  return e_.write_function(program_.name(), e_.type_void(), {},
                           [&](FunctionWriter& main, OpenBlock block) {
                             constexpr std::size_t kWordsForRow = 6;
                             main.expect_words(program_.exprs().size() * kWordsForRow);
                             if (Flow end = write_entry(std::move(block)))
                               main.emit_return(std::move(*end));
                           });
}

Flow KernelWriter::write_entry(OpenBlock block) {
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
    return block;
  }
  buffers_.zero_workgroup_memory(plan_.zeroed);
  return write_whole(std::move(block));
}

// The program from its start to its end, once.
Flow KernelWriter::write_whole(OpenBlock block) {
  if (program_.facts().has_async) make_copies();
  if (!plan_.runs.needed) return statements(std::move(block), plan_.nodes);
  write_runs(plan_.nodes);
  return block;
}

// What follows a construct that nothing comes out of is never reached, and not written.
Flow KernelWriter::statements(OpenBlock block, ir::NodeRange range) {
  Flow flow = std::move(block);
  for (ir::NodeId id = range.begin; id < range.end && flow; id = program_.node(id).end) {
    flow = statement(std::move(*flow), id);
  }
  return flow;
}

void KernelWriter::mark_line(ir::NodeId id) {
  if (source_file_ == 0) return;
  const ir::LineColumn at = ir::line_column(program_.source(), program_.source().nodes[id]);
  e_.function().line(source_file_, at.line, at.column);
}

Flow KernelWriter::statement(OpenBlock block, ir::NodeId id) {
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
      return branch(std::move(block), id);
    case NodeKind::Loop:
      return loop(std::move(block), id);
    case NodeKind::Return:
      leave(std::move(block));
      return std::nullopt;
    case NodeKind::Block:
    case NodeKind::Region:
      return statements(std::move(block), program_.then_body(id));
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
      trap(std::move(block), id);
      return std::nullopt;
    case NodeKind::IndirectDispatch:  // a matter of how the kernel is launched
    case NodeKind::Resume:            // a mark for the host
      break;
    case NodeKind::AllReduce:
    case NodeKind::AllGather:
    case NodeKind::ReduceScatter:
    case NodeKind::Broadcast:
      break;  // refused by check_requirements
  }
  return block;
}

Flow KernelWriter::branch(OpenBlock block, ir::NodeId id) {
  end_segment_at(id);
  const Value condition = evaluate(program_.node(id).args[0]);
  const ir::NodeRange otherwise = program_.else_body(id);
  Flow flow = e_.function().branch(
      std::move(block), condition.id(), !otherwise.empty(),
      [&](OpenBlock inside) { return statements(std::move(inside), program_.then_body(id)); },
      [&](OpenBlock inside) {
        const bool trapped = plan_.runs.cut[id] && std::exchange(trapped_in_segment_, false);
        Flow end = statements(std::move(inside), otherwise);
        trapped_in_segment_ = trapped_in_segment_ || trapped;
        return end;
      });
  if (flow) end_segment_at(id);
  return flow;
}

Flow KernelWriter::loop(OpenBlock block, ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  const Word from = evaluate(node.args[0]).word();
  const Word to = evaluate(node.args[1]).word();
  end_segment_at(id);
  Flow flow = loop_trips(std::move(block), id, from, to);
  if (flow) end_segment_at(id);
  return flow;
}

// A trip of an unrolled loop, whose bounds are constants, is several of the body's; what is left
// over follows it.
Flow KernelWriter::loop_trips(OpenBlock block, ir::NodeId id, Word from, Word to) {
  const ir::Node& node = program_.node(id);
  const auto trip = [&](OpenBlock inside, Word index) {
    bind(node.ref, {ir::Type::U32, index});
    Flow flow = statements(std::move(inside), program_.then_body(id));
    if (flow) end_segment_at(id);
    return flow;
  };
  const std::uint32_t copies = plan_.loops.unrolled[id];
  Word rolled_end = to;
  if (copies > 1) {
    const std::uint32_t count = to.constant - from.constant;
    rolled_end = e_.word(to.constant - count % copies);
  }
  const Word ended =
      e_.repeat(from, rolled_end, e_.word(copies), [&](OpenBlock inside, Word index) {
        if (e_.module().names_kept()) {
          e_.module().name(index.id(), program_.var_name(node.ref));
        }
        open_loops_.push_back({id, from, index});
        Flow flow = std::move(inside);
        for (std::uint32_t copy = 0; copy < copies && flow; ++copy) {
          flow = trip(std::move(*flow), index + copy);
        }
        open_loops_.pop_back();
        return flow;
      });
  count_trips(id, from, ended);
  check_loop_ended(ended, rolled_end);
  Flow flow = std::move(block);
  if (copies > 1) {
    for (std::uint32_t rest = rolled_end.constant; rest != to.constant && flow; ++rest) {
      flow = trip(std::move(*flow), e_.word(rest));
    }
  }
  return flow;
}

// A driver with a loop budget leaves the loop although there are trips to go.
void KernelWriter::check_loop_ended(Word index, Word to) {
  if (!plan_.loops.checked) return;
  e_.when(index < to, [&] { interface_.report_loop_budget(); });
}

// In a run, the caller learns that the invocation is through.
void KernelWriter::leave(OpenBlock block) {
  count_open_loops();
  if (plan_.runs.needed) {
    e_.function().emit_return(std::move(block), e_.flag(false).id);
  } else {
    e_.function().emit_return(std::move(block));
  }
}

void KernelWriter::trap(OpenBlock block, ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  const std::string tag(program_.name(node.name));
  auto found = std::ranges::find(trap_tags_, tag);
  if (found == trap_tags_.end()) found = trap_tags_.insert(found, tag);
  const auto index = static_cast<std::uint32_t>(found - trap_tags_.begin());
  const Value address = evaluate(node.args[0]);
  interface_.report_trap(index, address.word());
  trapped_in_segment_ = true;
  leave(std::move(block));
}

}  // namespace felsite::codegen
