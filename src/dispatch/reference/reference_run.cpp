#include "dispatch/reference/reference_run.h"

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/schedule/iteration_rule.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"
#include "ir/analysis/effects.h"

namespace felsite::dispatch {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<void> check_kept_groups(const ir::ValidProgram& program, const Extent3& grid,
                               std::uint64_t limit) {
  auto fits = reference::Interpreter(program).check_memory(grid, limit);
  if (fits) return fits;
  return std::unexpected(base::with_program(std::move(fits.error()), program.name()));
}

void add(reference::OutOfBounds& total, const reference::OutOfBounds& more) {
  total.loads += more.loads;
  total.stores += more.stores;
  total.atomics += more.atomics;
}

ReferenceRun::ReferenceRun(const reference::Interpreter& interpreter, const DispatchConfig& config,
                           const ReferenceOptions& options, const base::StopFlag* stop)
    : interpreter_(interpreter), program_(interpreter.program()), config_(config) {
  options_.reference = options;
  options_.deadline = base::Deadline(config.timeout);
  options_.stop = stop;
}

Result<void> ReferenceRun::plan(std::span<const ByteSpan> inputs, std::span<const Bytes> slots,
                                std::uint64_t memory_limit) {
  FELSITE_CHECK(check_config(program_, config_));
  FELSITE_TRY(plan_, plan_inputs(program_, inputs, config_));
  FELSITE_CHECK(check_result_memory(plan_, memory_limit));
  FELSITE_CHECK(check_slots(inputs, slots));
  // Checked before a thread is started for it. A convergence flag is zero before each iteration.
  const auto contents = [&](ir::BufferId id) {
    return id == iteration_rule(program_, config_).flag ? ByteSpan{}
                                                        : inputs[plan_.buffers[id].input];
  };
  FELSITE_CHECK(plan_grid(program_, plan_, config_, indirect_grid(program_, contents)));
  return {};
}

std::vector<std::uint64_t> ReferenceRun::output_sizes() const {
  std::vector<std::uint64_t> sizes(plan_.output_count);
  for (const BoundBuffer& bound : plan_.buffers) {
    if (bound.output != ir::kNone) sizes[bound.output] = bound.bytes;
  }
  return sizes;
}

void ReferenceRun::bind(std::span<const ByteSpan> inputs, std::vector<Bytes>& outputs) {
  outputs.resize(plan_.output_count);
  for (const BoundBuffer& bound : plan_.buffers) {
    reference::BufferView view{.data = nullptr, .count = bound.count};
    if (bound.output != ir::kNone) {
      Bytes& slot = outputs[bound.output];
      if (bound.input != ir::kNone) {
        slot.assign(inputs[bound.input].begin(), inputs[bound.input].end());
      } else {
        slot.assign(bound.bytes, std::byte{0});
      }
      view.data = slot.data();
    } else if (bound.input != ir::kNone) {
      // Never written: validation ensures that.
      view.data = const_cast<std::byte*>(inputs[bound.input].data());
    }
    views_.push_back(view);
  }
}

Result<void> ReferenceRun::one_iteration() {
  const auto contents = [&](ir::BufferId id) {
    return ByteSpan(views_[id].data, plan_.buffers[id].bytes);
  };
  FELSITE_TRY(const auto grid,
              plan_grid(program_, plan_, config_, indirect_grid(program_, contents)));
  FELSITE_CHECK(base::check_timeout(config_.timeout));
  // Checked here too: a grid without workgroups checks no clock, and may have many iterations.
  if (auto reason = base::reason_to_end(options_.deadline, options_.stop)) {
    return std::unexpected(std::move(*reason));
  }
  options_.grid = grid;
  const auto start = Clock::now();
  FELSITE_TRY(auto stats, interpreter_.run(views_, options_));
  note_device_slice("reference", config_.label.empty() ? program_.name() : config_.label, start,
                    Clock::now() - start);
  count(Counter::Launches);
  add(out_of_bounds_, stats.out_of_bounds);
  return {};
}

bool ReferenceRun::flag_is_clear() const {
  const reference::BufferView view = views_[*program_.find_buffer(config_.convergence.flag)];
  return std::all_of(view.data, view.data + view.count * 4,
                     [](std::byte b) { return b == std::byte{0}; });
}

void ReferenceRun::clear_flag() {
  const reference::BufferView view = views_[*program_.find_buffer(config_.convergence.flag)];
  std::fill_n(view.data, view.count * 4, std::byte{0});
}

void ReferenceRun::save_state() {
  saved_.resize(evolving_.size());
  for (std::size_t i = 0; i < evolving_.size(); ++i) {
    const reference::BufferView view = views_[evolving_[i]];
    saved_[i].assign(view.data, view.data + plan_.buffers[evolving_[i]].bytes);
  }
}

bool ReferenceRun::state_is_as_saved() const {
  for (std::size_t i = 0; i < evolving_.size(); ++i) {
    if (!std::equal(saved_[i].begin(), saved_[i].end(), views_[evolving_[i]].data)) return false;
  }
  return true;
}

Result<DispatchTiming> ReferenceRun::iterations() {
  const auto start = Clock::now();
  const IterationRule rule = iteration_rule(program_, config_);
  if (rule.compares) {
    const ir::Effects effects = ir::effects_of(program_, program_.entry());
    for (const auto* list : {&effects.writes, &effects.atomics}) {
      for (const ir::BufferId id : *list) {
        if (program_.buffer(id).access != ir::Access::Workgroup) evolving_.push_back(id);
      }
    }
  }
  DispatchTiming timing;
  while (timing.iterations_run < rule.bound && !timing.converged) {
    if (rule.compares) save_state();
    if (rule.flag) clear_flag();
    FELSITE_CHECK(one_iteration());
    ++timing.iterations_run;
    timing.converged = (rule.compares && state_is_as_saved()) || (rule.flag && flag_is_clear());
  }
  count(Counter::IterationsRun, timing.iterations_run);
  if (timing.converged) count(Counter::IterationsSkipped, rule.bound - timing.iterations_run);
  const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start);
  timing.wall_ns = static_cast<std::uint64_t>(elapsed.count());
  return timing;
}

}  // namespace felsite::dispatch
