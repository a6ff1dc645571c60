// A stage of a submission while it is written.
#pragma once

#include <algorithm>

#include "dispatch/forms/step_writer.h"
#include "dispatch/forms/submission_schedule.h"

namespace felsite::dispatch {

class StageWriter : public StepWriter {
 public:
  StageWriter(const DeviceProfile& device, std::span<const PlannedBuffer> memory)
      : StepWriter(device), memory_count_(memory.size()) {
    out().buffers.assign(memory.begin(), memory.end());
  }

  // Adds the buffers and kernels of a step's schedule, and renumbers its steps.
  class Renumbering {
   public:
    Renumbering(StageWriter& writer, SubmittedStep& step) : writer_(writer), step_(step) {
      Schedule& from = step.schedule;
      for (std::size_t i = 0; i < from.buffers.size(); ++i) {
        PlannedBuffer& buffer = from.buffers[i];
        const bool is_own = buffer.kind == PlannedBuffer::Kind::Device ||
                            buffer.kind == PlannedBuffer::Kind::Control;
        buffers_.push_back(is_own ? writer.add_buffer(buffer.kind, buffer.bytes, buffer.name,
                                                      std::move(buffer.constants))
                                  : step.memory[i]);
      }
      first_kernel_ = static_cast<std::uint32_t>(writer.out().kernels.size());
      std::ranges::move(from.kernels, std::back_inserter(writer.out().kernels));
      for (InitialWords& initial : from.initial_words) {
        writer.begin_with(ref(initial.target), std::move(initial.words));
      }
      for (const IndirectGate& gate : from.indirect_gates) {
        writer.out().indirect_gates.push_back({ref(gate.words), step.caller_step});
      }
    }

    BufferRef ref(const BufferRef& from) const {
      if (from.buffer == BufferRef::kUnbound) return from;
      const BufferRef& whole = buffers_[from.buffer];
      return {whole.buffer, whole.offset + from.offset, from.bytes};
    }
    std::optional<BufferRef> ref(const std::optional<BufferRef>& from) const {
      if (!from) return std::nullopt;
      return ref(*from);
    }

    std::vector<ScheduledStep> steps(std::vector<ScheduledStep> from, bool counts_launches) const {
      for (ScheduledStep& step : from) {
        step.kernel += first_kernel_;
        for (BufferRef& buffer : step.buffers) buffer = ref(buffer);
        step.indirect = ref(step.indirect);
        step.condition = ref(step.condition);
        if (!step.is_callers) continue;
        step.caller_step = step_.caller_step;
        step.counts_as_launch = counts_launches;
      }
      return from;
    }

    IterationOutcome outcome() const {
      IterationOutcome made = *step_.schedule.outcome;
      for (BufferRef& word : made.ran) word = ref(word);
      for (auto* word : {&made.counted, &made.left, &made.converged, &made.flag, &made.launches}) {
        *word = ref(*word);
      }
      return made;
    }

   private:
    StageWriter& writer_;
    const SubmittedStep& step_;
    std::vector<BufferRef> buffers_;  // by Schedule::buffers
    std::uint32_t first_kernel_ = 0;
  };

  SubmissionStage finish() { return {take(), late_step, memory_count_, std::move(outcomes)}; }
  bool is_empty() { return out().prefix.empty() && out().repeated.empty(); }

  std::optional<std::uint32_t> late_step;
  std::vector<BlockOutcome> outcomes;

 private:
  const std::size_t memory_count_;
};

}  // namespace felsite::dispatch
