#include "codegen/kernel/region_writer.h"

namespace felsite::codegen {

using ir::NodeKind;

// The variable that says whether the current invocation has not returned yet.
Id RegionWriter::running() {
  return plan_.turns > 1 ? variables_.at_turn(running_, e_.type_bool()) : running_;
}

void RegionWriter::start_running() {
  if (plan_.turns == 1) {
    running_ = variables_.new_variable(e_.type_bool(), true);
    e_.store(running_, e_.flag(true).id);
  } else {
    running_ = variables_.new_variable_per_turn(e_.type_bool());
    const Word all = e_.word(static_cast<std::uint32_t>(plan_.folding->invocations));
    for (std::uint32_t turn = 0; turn < plan_.turns; ++turn) {
      variables_.set_turn(e_.word(turn));
      const Word number = plan_.folding->number(interface_.local_index(), e_.word(turn));
      const Flag exists = turn + 1 < plan_.turns ? e_.flag(true) : number < all;
      e_.store(running(), exists.id);
    }
  }
  e_.module().name(running_, "running");
}

// Writes `body()` for each invocation of the lane that still runs.
template <class Body>
void RegionWriter::while_running(Body body) {
  const auto act = [&] { e_.when(e_.load_flag(running()), body); };
  if (plan_.turns == 1) return act();
  const Word turns = e_.word(plan_.turns);
  const Word ended = e_.repeat(e_.word(0), turns, e_.word(1), [&](Word turn) {
    variables_.set_turn(turn);
    act();
  });
  check_loop_ended(ended, turns);
}

void RegionWriter::write(ir::NodeRange range) {
  if (running_ == 0) start_running();
  ir::NodeId begin = range.begin;
  for (ir::NodeId id = range.begin; id < range.end; id = program_.node(id).end) {
    if (!plan_.regions.has_barrier[id]) continue;
    write_region({begin, id});
    write_barrier_construct(id);
    begin = program_.node(id).end;
  }
  write_region({begin, range.end});
}

void RegionWriter::write_region(ir::NodeRange range) {
  if (range.empty()) return;
  const Id region =
      e_.write_function("region", e_.type_bool(), {}, [&](FunctionWriter& f, OpenBlock block) {
        if (Flow end = write_statements_(std::move(block), range))
          f.emit_return(std::move(*end), e_.flag(true).id);
      });
  while_running([&] { e_.store(running(), e_.function().call(e_.type_bool(), {region})); });
}

void RegionWriter::write_barrier_construct(ir::NodeId id) {
  const ir::Node& node = program_.node(id);
  mark_line(id);
  if (node.kind == NodeKind::Barrier) return traps_.write_barrier(id);
  traps_.end_segment_at(id);
  if (node.kind == NodeKind::Loop) {
    const Word from = agreed(node.args[0]);
    const Word to = agreed(node.args[1]);
    trips_.repeat(id, from, to, [&](Word index) {
      variables_.bind_for_all_turns(node.ref, index);
      write(program_.then_body(id));
      traps_.end_segment_at(id);
    });
    return traps_.end_segment_at(id);
  }
  if (node.kind != NodeKind::If) return write(program_.then_body(id));
  const Flag condition = agreed(node.args[0]) != 0U;
  e_.function().either(
      condition.id, [&] { write(program_.then_body(id)); },
      [&] { traps_.write_otherwise(id, [&] { write(program_.else_body(id)); }); });
  traps_.end_segment_at(id);
}

// A condition gives 0 or 1. Where nobody runs any more it is 0, and so are both bounds of a loop.
Word RegionWriter::agreed(ir::ExprId root) {
  if (is_known_to_all(program_, root)) return word_of(root);
  if (agreed_word_ == 0) agreed_word_ = buffers_.workgroup_words(1, "agreed");
  const Word only = e_.word(0);
  buffers_.barrier();  // what was published before has been read
  e_.when(interface_.local_index() == 0U,
          [&] { buffers_.publish_workgroup_word(agreed_word_, only, e_.word(0)); });
  buffers_.barrier();
  while_running([&] {
    buffers_.publish_workgroup_word(agreed_word_, only,
                                    plan_.turns > 1 ? word_at_turn(root) : word_of(root));
  });
  buffers_.barrier();
  return buffers_.load_workgroup_word(agreed_word_, only);
}

Word RegionWriter::word_of(ir::ExprId root) {
  const Value value = expressions_.evaluate(root);
  if (value.type != ir::Type::Bool) return value.word();
  return zero_or_one(value.flag());
}

// In a function, so that ids are those of the turn in which it is called.
Word RegionWriter::word_at_turn(ir::ExprId root) {
  const Id function =
      e_.write_function("agreed", e_.type_word(), {}, [&](FunctionWriter& f, OpenBlock block) {
        f.emit_return(std::move(block), word_of(root).id());
      });
  return e_.as_word(e_.function().call(e_.type_word(), {function}));
}

}  // namespace felsite::codegen
