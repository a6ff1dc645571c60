#include "dispatch/schedule/step_accesses.h"

#include <algorithm>

#include "ir/analysis/effects.h"

namespace felsite::dispatch {
namespace {

// What a kernel does with one of its buffers.
struct KernelUse {
  ir::BufferId buffer = 0;
  bool writes = false;
};

std::vector<KernelUse> uses_of(const ScheduledKernel& kernel) {
  const ir::Effects effects = ir::effects_of(kernel.program, kernel.program.entry());
  std::vector<ir::BufferId> written = effects.writes;
  written.insert(written.end(), effects.atomics.begin(), effects.atomics.end());
  if (kernel.one_workgroup && kernel.one_workgroup->iterations) {
    // The kernel counts its iterations there, whatever the program says.
    const codegen::IterationLoop& iterations = *kernel.one_workgroup->iterations;
    written.push_back(iterations.control);
    if (iterations.changed) written.push_back(*iterations.changed);
  }
  std::vector<KernelUse> uses;
  for (ir::BufferId id = 0; id < kernel.program.buffers().size(); ++id) {
    const bool writes = std::ranges::find(written, id) != written.end();
    const bool is_used = writes || std::ranges::binary_search(effects.reads, id);
    if (is_used) uses.push_back({id, writes});
  }
  return uses;
}

void add_access(std::vector<BufferAccess>& accesses, const BufferRef& ref, Stage stage,
                bool writes) {
  if (ref.buffer == BufferRef::kUnbound) return;
  // Kernels access whole words, of an empty buffer those that are bound for it.
  const std::uint64_t bytes =
      ref.bytes == 0 ? codegen::kBoundBytesOfEmpty : (ref.bytes + 3) / 4 * 4;
  const std::uint64_t end = ref.offset + bytes;
  accesses.push_back({ref.buffer, ref.offset, end, stage, writes});
}

std::vector<PlannedStep> steps_of(std::span<const ScheduledStep> steps,
                                  std::span<const std::vector<KernelUse>> uses) {
  std::vector<PlannedStep> planned;
  for (const ScheduledStep& step : steps) {
    PlannedStep& made = planned.emplace_back(step.name);
    for (const KernelUse& use : uses[step.kernel]) {
      add_access(made.accesses, step.buffers[use.buffer], Stage::Compute, use.writes);
    }
    if (step.indirect) add_access(made.accesses, *step.indirect, Stage::Indirect, false);
    if (step.condition) add_access(made.accesses, *step.condition, Stage::Condition, false);
  }
  return planned;
}

}  // namespace

SequencePlan sequence_of(const Schedule& schedule) {
  std::vector<std::vector<KernelUse>> uses;
  for (const ScheduledKernel& kernel : schedule.kernels) uses.push_back(uses_of(kernel));
  SequencePlan plan;
  plan.prologue = steps_of(schedule.prefix, uses);
  plan.block = steps_of(schedule.repeated, uses);
  plan.count = schedule.repeated.empty() ? 0 : schedule.count;
  if (!schedule.watch || plan.count < 2) return plan;
  PlannedStep& poll = plan.block.emplace_back("poll");
  const auto look_at = [&](const BufferRef& ref) {
    add_access(poll.accesses, {ref.buffer, 0, schedule.buffers[ref.buffer].bytes}, Stage::Host,
               false);
  };
  look_at(*schedule.watch);
  for (const IndirectGate& gate : schedule.indirect_gates) look_at(gate.words);
  return plan;
}

}  // namespace felsite::dispatch
