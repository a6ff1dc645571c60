#include "vk/schedule/outcome.h"

#include "base/try.h"

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

Result<dispatch::IterationsRun> iterations_of(const Recording& recording) {
  const Sequence& sequence = recording.sequence();
  FELSITE_TRY(const auto run,
              dispatch::read_outcome(*sequence.iterations, [&](const dispatch::BufferRef& words) {
                return recording.read_words(slice_in(sequence.scheduled, words));
              }));
  dispatch::count_iterations(*sequence.iterations, run);
  return run;
}

}  // namespace felsite::vk
