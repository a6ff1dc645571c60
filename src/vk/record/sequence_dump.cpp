#include "vk/record/sequence_dump.h"

#include <fmt/format.h>

#include <atomic>

#include "vk/kernel/kernel_dump.h"

namespace felsite::vk {
std::string to_text(const dispatch::SequencePlan& plan, const dispatch::BarrierPlan& barriers) {
  using dispatch::Section;
  std::string text;
  const auto section = [&](Section which, const std::vector<dispatch::PlannedStep>& steps,
                           std::string_view title) {
    text += fmt::format("{}\n", title);
    for (std::uint32_t i = 0; i <= steps.size(); ++i) {
      for (const dispatch::PlannedBarrier& barrier : barriers.barriers) {
        if (barrier.section != which || barrier.before != i) continue;
        text +=
            fmt::format("  -- barrier: {} -> {}\n", to_string(barrier.from), to_string(barrier.to));
      }
      if (i == steps.size()) break;
      text += fmt::format("  {}. {}\n", i, steps[i].name);
      for (const dispatch::BufferAccess& access : steps[i].accesses) {
        text += fmt::format("       {} buffer {} [{}, {}) by {}\n",
                            access.writes ? "writes" : "reads", access.buffer, access.begin,
                            access.end, to_string(dispatch::StageSet(access.stage)));
      }
    }
  };
  section(Section::Prologue, plan.prologue, "prologue");
  section(Section::Block, plan.block, fmt::format("block, {} times", plan.count));
  section(Section::Epilogue, plan.epilogue, "epilogue");
  return text;
}

void dump_sequence(const Sequence& sequence, const SequenceLayout& layout) {
  static std::atomic<unsigned> count = 0;
  dump_text(fmt::format("sequence-{}.plan", count++), [&] {
    return fmt::format("{}\n{}", sequence.name, to_text(layout.plan, layout.barriers));
  });
}

}  // namespace felsite::vk
