#include "vk/schedule/outcome.h"

namespace felsite::vk {

std::vector<std::uint64_t> segment_times(const Sequence& sequence,
                                         std::span<const std::uint64_t> step_ns) {
  if (step_ns.empty() || !sequence.iterations) return {step_ns.begin(), step_ns.end()};
  std::vector<std::uint64_t> times(sequence.iterations->segments);
  for (std::size_t i = 0; i < step_ns.size(); ++i) {
    const std::size_t prefix = sequence.prefix.size();
    const KernelStep& step = i < prefix ? sequence.prefix[i] : sequence.repeated[i - prefix];
    if (step.caller_step) times[step.segment ? step.segment->index : 0] += step_ns[i];
  }
  return times;
}

Result<dispatch::IterationsRun> outcome_of(const Recording& recording,
                                           const dispatch::IterationOutcome& outcome) {
  const Sequence& sequence = recording.sequence();
  return dispatch::read_outcome(outcome, [&](const dispatch::BufferRef& words) {
    return recording.read_words(slice_in(sequence.scheduled, words));
  });
}

}  // namespace felsite::vk
