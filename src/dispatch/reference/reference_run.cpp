#include "dispatch/reference/reference_run.h"

#include <algorithm>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "dispatch/cost/iteration_rule.h"
#include "dispatch/cut/change_reports.h"
#include "dispatch/reference/reference_memory.h"
#include "dispatch/telemetry/counters.h"
#include "dispatch/telemetry/trace.h"

namespace felsite::dispatch {
namespace {

using Clock = std::chrono::steady_clock;

class StepRun {
 public:
  StepRun(const PlacedStep& step, const reference::Interpreter& interpreter,
          ReferenceContext& context)
      : step_(step),
        interpreter_(interpreter),
        context_(context),
        rule_(iteration_rule(step.program, step.config)) {
    for (ir::BufferId id = 0; id < step.memory.size(); ++id) {
      views_.push_back(
          {.data = data_of(step.memory[id]), .count = step.bindings.buffers[id].count});
    }
    if (rule_.compares) evolving_ = changed_buffers(step.program);
  }

  Result<ReferenceOutcome> run() {
    ReferenceOutcome outcome;
    while (outcome.iterations < rule_.bound && !outcome.converged) {
      if (rule_.compares) save_state();
      if (rule_.flag) std::ranges::fill(bytes_of(*rule_.flag), std::byte{0});
      FELSITE_CHECK(one_iteration());
      ++outcome.iterations;
      outcome.converged =
          (rule_.compares && state_is_as_saved()) || (rule_.flag && flag_is_clear());
    }
    if (!context_.counts_iterations || !needs_grid_sync_form(step_.program, step_.config)) {
      return outcome;
    }
    count(Counter::IterationsRun, outcome.iterations);
    if (outcome.converged) count(Counter::IterationsSkipped, rule_.bound - outcome.iterations);
    return outcome;
  }

 private:
  std::span<std::byte> bytes_of(ir::BufferId id) const {
    return {views_[id].data, step_.bindings.buffers[id].bytes};
  }

  Result<void> one_iteration() {
    const auto contents = [&](ir::BufferId id) { return ByteSpan(bytes_of(id)); };
    FELSITE_TRY(const auto grid, plan_grid(step_.program, step_.bindings, step_.config,
                                           indirect_grid(step_.program, contents)));
    // Checked here too: a grid without workgroups checks no clock, and may have many iterations.
    if (auto reason = base::reason_to_end(context_.options.deadline, context_.options.stop)) {
      return std::unexpected(std::move(*reason));
    }
    context_.options.grid = grid;
    const auto start = Clock::now();
    FELSITE_TRY(auto stats, interpreter_.run(views_, context_.options));
    note_device_slice("reference", step_.name, start, Clock::now() - start);
    count(Counter::Launches);
    context_.out_of_bounds.add(stats.out_of_bounds);
    return {};
  }

  bool flag_is_clear() const { return is_all_zero(bytes_of(*rule_.flag)); }

  void save_state() {
    saved_.resize(evolving_.size());
    for (std::size_t i = 0; i < evolving_.size(); ++i) {
      const auto bytes = bytes_of(evolving_[i]);
      saved_[i].assign(bytes.begin(), bytes.end());
    }
  }

  bool state_is_as_saved() const {
    for (std::size_t i = 0; i < evolving_.size(); ++i) {
      if (!std::ranges::equal(saved_[i], bytes_of(evolving_[i]))) return false;
    }
    return true;
  }

  const PlacedStep& step_;
  const reference::Interpreter& interpreter_;
  ReferenceContext& context_;
  const IterationRule rule_;
  std::vector<reference::BufferView> views_;
  std::vector<ir::BufferId> evolving_;  // storage buffers that the program changes
  std::vector<Bytes> saved_;            // their bytes before the iteration
};

}  // namespace

Result<void> check_kept_groups(const ir::ValidProgram& program, const Extent3& grid,
                               std::uint64_t limit) {
  auto fits = reference::Interpreter(program).check_memory(grid, limit);
  if (fits) return fits;
  return std::unexpected(base::with_program(std::move(fits.error()), program.name()));
}

Result<ReferenceOutcome> run_step(const PlacedStep& step, const reference::Interpreter& interpreter,
                                  ReferenceContext& context) {
  return StepRun(step, interpreter, context).run();
}

}  // namespace felsite::dispatch
