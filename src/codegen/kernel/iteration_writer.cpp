#include "codegen/kernel/iteration_writer.h"

#include <utility>

namespace felsite::codegen {

IterationWriter::IterationWriter(const KernelPart& kernel, Variables& variables, TripCounts& trips,
                                 std::function<Flow(OpenBlock)> write_program)
    : KernelPart(kernel),
      variables_(variables),
      trips_(trips),
      write_program_(std::move(write_program)),
      loop_(*segment_.one_workgroup->iterations) {}

// Each element of the buffer, by one of the lanes.
template <class Body>
void IterationWriter::each_shared(ir::BufferId buffer, Body body) {
  const Word length = interface_.length(buffer);
  const Word lane = interface_.local_index();
  if (length.is_constant() && length.constant <= plan_.lanes) {
    return e_.when(lane < length, [&] { body(lane); });
  }
  const Word ended = e_.repeat(lane, length, e_.word(plan_.lanes), body);
  check_loop_ended(ended, length);
}

void IterationWriter::declare_state() {
  left_ = variables_.new_variable(e_.type_word(), false);
  ran_ = variables_.new_variable(e_.type_word(), false);
  goes_on_ = variables_.new_variable(e_.type_bool(), false);
  converged_ = variables_.new_variable(e_.type_bool(), false);
}

// What controls the iterations is read once, by all lanes, and written once, by the first of them.
void IterationWriter::write() {
  const auto control = [&](std::uint32_t index) {
    return buffers_.load(loop_.control, e_.word(index), IndexBound::Proven).word();
  };
  const auto set_control = [&](std::uint32_t index, Word value) {
    buffers_.store(loop_.control, e_.word(index), {ir::Type::U32, value}, IndexBound::Proven);
  };
  declare_state();
  const Word ran_before = control(1);
  const Word allowed = select(control(2) == 0U, control(0), e_.word(0));
  e_.when(allowed != 0U, [&] {
    e_.store(left_, allowed.id());
    e_.store(ran_, e_.word(0).id());
    e_.store(goes_on_, e_.flag(true).id);
    e_.store(converged_, e_.flag(false).id);
    begin();
    e_.repeat_while(goes_on_, [&](OpenBlock block) {
      Flow flow = write_iteration(std::move(block));
      end_iteration();
      return flow;
    });
    e_.when(interface_.local_index() == 0U, [&] {
      // Nothing is left to do where nothing changes any more.
      const Flag converged = e_.load_flag(converged_);
      set_control(0, select(converged, e_.word(0), e_.load_word(left_)));
      set_control(1, ran_before + e_.load_word(ran_));
      e_.when(e_.load_flag(converged_), [&] { set_control(2, e_.word(1)); });
    });
  });
}

void IterationWriter::begin() {
  const ChangeCheck check = plan_.iterations.changes;
  if (check != ChangeCheck::None) {
    if (check != ChangeCheck::EachLane) {
      changes_ = buffers_.workgroup_words(2, "changes");
      e_.when(interface_.local_index() == 0U,
              [&] { buffers_.publish_workgroup_word(changes_, e_.word(1), e_.word(0)); });
    }
    each_shared(*loop_.changed, [&](Word index) {
      buffers_.store(*loop_.changed, index, {ir::Type::U32, e_.word(0)}, IndexBound::Proven);
    });
  }
  trips_.begin();
  buffers_.store_zeros(plan_.zeroed);
  buffers_.barrier();
}

// In a function, so that an invocation that returns from it comes to the next iteration; regions
// are functions already.
Flow IterationWriter::write_iteration(OpenBlock block) {
  if (plan_.regions.needed) return write_program_(std::move(block));
  const Id iteration =
      e_.write_function("iteration", e_.type_void(), {}, [&](FunctionWriter& f, OpenBlock inside) {
        if (Flow end = write_program_(std::move(inside))) f.emit_return(std::move(*end));
      });
  e_.function().call(e_.type_void(), {iteration});
  return block;
}

void IterationWriter::end_iteration() {
  buffers_.barrier();
  const Word left = e_.load_word(left_) - 1U;
  const Word ran = e_.load_word(ran_) + 1U;
  e_.store(left_, left.id());
  e_.store(ran_, ran.id());
  Flag goes_on = left != 0U && ran < loop_.most;
  // More iterations would not undo a reported error.
  const bool can_report = program_.facts().has_trap || plan_.loops.checked;
  const bool counts = plan_.iterations.counted_loops != 0;
  const ChangeCheck check = plan_.iterations.changes;
  if (can_report) goes_on = goes_on && !interface_.has_report();
  if (check != ChangeCheck::None) check_changes();
  if (counts) trips_.share();
  buffers_.store_zeros(plan_.zeroed);
  if (can_report || check != ChangeCheck::None || counts || !plan_.zeroed.empty()) {
    buffers_.barrier();
  }
  if (check != ChangeCheck::None) {
    if (check != ChangeCheck::EachLane) {
      const Word changed = buffers_.load_workgroup_word(changes_, turn_of_changes());
      e_.store(converged_, (changed == 0U).id);
    }
    goes_on = goes_on && !e_.load_flag(converged_);
  }
  if (plan_.iterations.limited) goes_on = goes_on && trips_.fits_another(ran);
  e_.store(goes_on_, goes_on.id);
}

// The last iteration that may run leaves its changes to be seen.
void IterationWriter::check_changes() {
  const ir::BufferId changed = *loop_.changed;
  const Word left = e_.load_word(left_);
  const Word turn = turn_of_changes();
  const auto load = [&](Word index) {
    return buffers_.load(changed, index, IndexBound::Proven).word();
  };
  const auto store = [&](Word index, Word value) {
    buffers_.store(changed, index, {ir::Type::U32, value}, IndexBound::Proven);
  };
  const Flag first = interface_.local_index() == 0U;
  switch (plan_.iterations.changes) {
    case ChangeCheck::None:
      return;
    case ChangeCheck::EachLane: {
      const Word seen = load(e_.word(0));
      e_.store(converged_, (seen == 0U).id);
      buffers_.barrier();
      return e_.when(first && seen != 0U && left != 0U, [&] { store(e_.word(0), e_.word(0)); });
    }
    case ChangeCheck::FirstLane:
      return e_.when(first, [&] {
        const Word seen = load(e_.word(0));
        buffers_.store_workgroup_word(changes_, turn, seen);
        store(e_.word(0), select(left == 0U, seen, e_.word(0)));
      });
    case ChangeCheck::Shared:
      each_shared(changed, [&](Word index) {
        e_.when(load(index) != 0U, [&] {
          buffers_.publish_workgroup_word(changes_, turn, e_.word(1));
          e_.when(left != 0U, [&] { store(index, e_.word(0)); });
        });
      });
      return e_.when(first,
                     [&] { buffers_.publish_workgroup_word(changes_, 1U - turn, e_.word(0)); });
  }
}

// Where several lanes publish changes, two words take turns: one is zeroed while the other is in
// use.
Word IterationWriter::turn_of_changes() {
  return plan_.iterations.changes == ChangeCheck::Shared ? e_.load_word(ran_) & 1U : e_.word(0);
}

}  // namespace felsite::codegen
