// Many iterations over the program in one dispatch of one workgroup.
//
// An iteration ends at a barrier. Between it and the next one the lanes look together whether
// something changed, clear that, and zero workgroup memory for the next iteration; behind it each
// of them knows alike whether there is a next iteration.
#include "codegen/kernel/kernel_writer.h"

namespace felsite::codegen {

// Each element of the buffer, by one of the lanes.
template <class Body>
void KernelWriter::each_shared(ir::BufferId buffer, Body body) {
  const Word length = interface_.length(buffer);
  const Word lane = interface_.local_index();
  if (length.is_constant() && length.constant <= plan_.lanes) {
    return e_.when(lane < length, [&] { body(lane); });
  }
  const Word ended = e_.repeat(lane, length, e_.word(plan_.lanes), body);
  check_loop_ended(ended, length);
}

// What controls the iterations is read once, by all lanes, and written once, by the first of them.
void KernelWriter::write_iterations(const IterationLoop& loop) {
  const auto control = [&](std::uint32_t index) {
    return buffers_.load(loop.control, e_.word(index), IndexBound::Proven).word();
  };
  const auto set_control = [&](std::uint32_t index, Word value) {
    buffers_.store(loop.control, e_.word(index), {ir::Type::U32, value}, IndexBound::Proven);
  };
  const auto state = [&](Id variable) { return e_.as_word(e_.load(e_.type_word(), variable)); };
  iteration_ = {.left = new_variable(e_.type_word(), false),
                .ran = new_variable(e_.type_word(), false),
                .goes_on = new_variable(e_.type_bool(), false),
                .converged = new_variable(e_.type_bool(), false),
                .spent = new_variable(e_.type_word(), false)};
  const Word ran_before = control(1);
  const Word allowed = select(control(2) == 0U, control(0), e_.word(0));
  e_.when(allowed != 0U, [&] {
    e_.store(iteration_.left, allowed.id());
    e_.store(iteration_.ran, e_.word(0).id());
    e_.store(iteration_.spent, e_.word(0).id());
    e_.store(iteration_.goes_on, e_.flag(true).id);
    e_.store(iteration_.converged, e_.flag(false).id);
    begin_iterations(loop);
    e_.repeat_while(iteration_.goes_on, [&] {
      write_iteration();
      end_iteration(loop);
    });
    e_.when(interface_.local_index() == 0U, [&] {
      // Nothing is left to do where nothing changes any more.
      const Flag converged = e_.as_flag(e_.load(e_.type_bool(), iteration_.converged));
      set_control(0, select(converged, e_.word(0), state(iteration_.left)));
      set_control(1, ran_before + state(iteration_.ran));
      e_.when(e_.as_flag(e_.load(e_.type_bool(), iteration_.converged)),
              [&] { set_control(2, e_.word(1)); });
      set_control(3, state(iteration_.spent));
    });
  });
}

void KernelWriter::begin_iterations(const IterationLoop& loop) {
  if (loop.changed) {
    if (!sees_change_at_once(loop)) {
      iteration_.changes = buffers_.workgroup_words(2, "changes");
      e_.when(interface_.local_index() == 0U,
              [&] { tell(iteration_.changes, e_.word(1), e_.word(0)); });
    }
    each_shared(*loop.changed, [&](Word index) {
      buffers_.store(*loop.changed, index, {ir::Type::U32, e_.word(0)}, IndexBound::Proven);
    });
  }
  begin_counting();
  buffers_.store_zeros(plan_.zeroed);
  buffers_.barrier();
}

// A function of its own, so that an invocation that returns from it comes to the next iteration.
void KernelWriter::write_iteration() {
  if (plan_.runs.needed) {
    if (program_.facts().has_async) make_copies();
    return write_runs(plan_.nodes);
  }
  const Id iteration =
      e_.write_function("iteration", e_.type_void(), {}, [&](FunctionWriter& f, OpenBlock block) {
        if (Flow end = write_whole(std::move(block))) f.emit_return(std::move(*end));
      });
  e_.function().call(e_.type_void(), {iteration});
}

void KernelWriter::end_iteration(const IterationLoop& loop) {
  buffers_.barrier();
  const Word left = e_.as_word(e_.load(e_.type_word(), iteration_.left)) - 1U;
  const Word ran = e_.as_word(e_.load(e_.type_word(), iteration_.ran)) + 1U;
  e_.store(iteration_.left, left.id());
  e_.store(iteration_.ran, ran.id());
  Flag goes_on = left != 0U && ran < loop.most;
  // What was reported cannot be mended by more iterations.
  const bool can_report = program_.facts().has_trap || plan_.loops.checked;
  const bool counts = plan_.iterations.counted_loops != 0;
  if (can_report) goes_on = goes_on && !interface_.has_report();
  if (loop.changed) look_for_changes(loop);
  if (counts) share_counts();
  buffers_.store_zeros(plan_.zeroed);
  if (can_report || loop.changed || counts || !plan_.zeroed.empty()) buffers_.barrier();
  if (loop.changed) {
    if (!sees_change_at_once(loop)) {
      e_.store(iteration_.converged, (told(iteration_.changes, turn_of_changes(loop)) == 0U).id);
    }
    goes_on = goes_on && !e_.as_flag(e_.load(e_.type_bool(), iteration_.converged));
  }
  if (plan_.iterations.limited) goes_on = goes_on && fits_another_iteration(loop, ran);
  e_.store(iteration_.goes_on, goes_on.id);
}

// The last iteration that may run leaves its changes to be seen.
void KernelWriter::look_for_changes(const IterationLoop& loop) {
  const ir::BufferId changed = *loop.changed;
  const Word left = e_.as_word(e_.load(e_.type_word(), iteration_.left));
  const Word turn = turn_of_changes(loop);
  const auto load = [&](Word index) {
    return buffers_.load(changed, index, IndexBound::Proven).word();
  };
  const auto store = [&](Word index, Word value) {
    buffers_.store(changed, index, {ir::Type::U32, value}, IndexBound::Proven);
  };
  const Flag first = interface_.local_index() == 0U;
  if (sees_change_at_once(loop)) {
    const Word seen = load(e_.word(0));
    e_.store(iteration_.converged, (seen == 0U).id);
    buffers_.barrier();
    return e_.when(first && seen != 0U && left != 0U, [&] { store(e_.word(0), e_.word(0)); });
  }
  if (program_.buffer(changed).count == 1) {
    return e_.when(first, [&] {
      const Word seen = load(e_.word(0));
      buffers_.store_workgroup_word(iteration_.changes, turn, seen);
      store(e_.word(0), select(left == 0U, seen, e_.word(0)));
    });
  }
  each_shared(changed, [&](Word index) {
    e_.when(load(index) != 0U, [&] {
      tell(iteration_.changes, turn, e_.word(1));
      e_.when(left != 0U, [&] { store(index, e_.word(0)); });
    });
  });
  e_.when(first, [&] { tell(iteration_.changes, 1U - turn, e_.word(0)); });
}

// All lanes look at the one word themselves where a barrier more, before it is cleared, costs
// nothing; else the first lane tells the others.
bool KernelWriter::sees_change_at_once(const IterationLoop& loop) const {
  return plan_.memory.one_subgroup && program_.buffer(*loop.changed).count == 1;
}

// Where several lanes may tell of changes, two words take turns: one is zeroed while the other is
// in use.
Word KernelWriter::turn_of_changes(const IterationLoop& loop) {
  if (program_.buffer(*loop.changed).count == 1) return e_.word(0);
  return e_.as_word(e_.load(e_.type_word(), iteration_.ran)) & 1U;
}

}  // namespace felsite::codegen
