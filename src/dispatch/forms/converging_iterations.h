// Iterations that end when one of them changes nothing, for a program and for a block of steps.
#pragma once

#include <functional>

#include "dispatch/forms/step_writer.h"

namespace felsite::dispatch {

struct ConvergingBody {
  std::uint32_t bound = 1;
  std::size_t steps = 0;   // of one iteration, with its comparisons
  double invocations = 0;  // of one iteration
  // The steps of an iteration that say in `changed` whether they changed something.
  // `flag`: where each iteration has words of its own for that, and they are more than one.
  std::optional<std::uint64_t> own_flag_words{};
  using Steps = Result<std::vector<ScheduledStep>>;
  std::function<Steps(const BufferRef& changed, const std::optional<BufferRef>& flag)> iteration{};
  // Steps that compare what the steps changed with their state before, where nothing else reports
  // it. Before the first iteration they also store that state.
  std::function<Steps(const BufferRef& changed)> comparisons{};
};

// One recording holds the steps of several iterations, and the condition of each is the word in
// which the one before reported changes. Each iteration has its own word, so nothing is cleared
// while they run, and iterations after convergence are skipped. The schedule of the writer must
// have no repeated steps; it gets some where the bound is larger than one recording should hold.
Result<void> write_converging(StepWriter& writer, const ConvergingBody& body,
                              IterationOutcome& outcome);

}  // namespace felsite::dispatch
