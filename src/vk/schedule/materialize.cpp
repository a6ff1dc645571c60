#include "vk/schedule/materialize.h"

#include <algorithm>

#include "base/try.h"
#include "dispatch/schedule/step_accesses.h"

namespace felsite::vk {
namespace {

using dispatch::BufferRef;
using dispatch::PlannedBuffer;
using dispatch::Schedule;
using dispatch::ScheduledStep;

class Materializer {
 public:
  Materializer(Engine& engine, const Schedule& schedule, std::span<const SharedKernel> kernels,
               std::span<const BufferSlice> callers, Sequence& out)
      : engine_(engine), schedule_(schedule), kernels_(kernels), callers_(callers), out_(out) {}

  Result<void> run() {
    FELSITE_CHECK(allocate());
    const dispatch::SequencePlan plan = dispatch::sequence_of(schedule_);
    FELSITE_CHECK(add(schedule_.prefix, plan.prologue, out_.prefix));
    FELSITE_CHECK(add(schedule_.repeated, plan.block, out_.repeated));
    if (!schedule_.repeated.empty()) out_.count = schedule_.count;
    out_.watch = slice_of(schedule_.watch);
    for (const dispatch::InitialWords& initial : schedule_.initial_words) {
      out_.host_words.push_back({slice_of(initial.target), initial.words});
    }
    for (const dispatch::IndirectGate& gate : schedule_.indirect_gates) {
      out_.gates.push_back({slice_of(gate.words), gate.caller_step});
    }
    out_.iterations = schedule_.outcome;
    out_.scheduled = std::move(slices_);
    return {};
  }

 private:
  Result<void> allocate() {
    for (std::size_t i = 0; i < schedule_.buffers.size(); ++i) {
      const PlannedBuffer& planned = schedule_.buffers[i];
      if (planned.kind == PlannedBuffer::Kind::Caller ||
          planned.kind == PlannedBuffer::Kind::Workgroup) {
        slices_.push_back(callers_[i]);
        continue;
      }
      const bool is_control = planned.kind == PlannedBuffer::Kind::Control;
      FELSITE_TRY(auto made, engine_.memory().make(is_control ? Place::Control : Place::Device,
                                                   planned.bytes, {out_.name, planned.name}));
      if (!planned.constants.empty()) {
        FELSITE_CHECK(made->write(0, std::as_bytes(std::span(planned.constants))));
      }
      out_.own_bytes += planned.bytes;
      slices_.push_back({std::move(made), 0, planned.bytes});
    }
    return {};
  }

  BufferSlice slice_of(const BufferRef& ref) const {
    if (ref.buffer == BufferRef::kUnbound) return {};
    return slice_in(slices_, ref);
  }
  std::optional<BufferSlice> slice_of(const std::optional<BufferRef>& ref) const {
    if (!ref) return std::nullopt;
    return slice_of(*ref);
  }

  // `planned`: what each step accesses.
  Result<void> add(std::span<const ScheduledStep> steps,
                   std::span<const dispatch::PlannedStep> planned,
                   std::vector<KernelStep>& to) const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const ScheduledStep& step = steps[i];
      std::vector<BufferSlice> slices;
      for (const BufferRef& ref : step.buffers) slices.push_back(slice_of(ref));
      FELSITE_TRY(auto made, make_kernel_step(kernels_[step.kernel], step.counts, slices, step.grid,
                                              step.supplied));
      for (const dispatch::BufferAccess& access : planned[i].accesses) {
        if (access.stage != dispatch::Stage::Compute) continue;
        const BufferRef ref{access.buffer, access.begin, access.end - access.begin};
        made.accesses.push_back({slice_of(ref), access.writes});
      }
      made.grid = step.workgroups;
      made.base = step.base;
      made.indirect = slice_of(step.indirect);
      made.condition = slice_of(step.condition);
      made.name = step.name;
      if (step.is_callers) made.caller_step = step.caller_step;
      made.segment = step.segment;
      made.counts_as_launch = step.counts_as_launch;
      made.is_further_part = step.is_further_part;
      to.push_back(std::move(made));
    }
    return {};
  }

  Engine& engine_;
  const Schedule& schedule_;
  const std::span<const SharedKernel> kernels_;  // by Schedule::kernels
  const std::span<const BufferSlice> callers_;
  Sequence& out_;
  std::vector<BufferSlice> slices_;  // by Schedule::buffers
};

}  // namespace

Result<void> materialize(Engine& engine, const Schedule& schedule,
                         std::span<const SharedKernel> kernels,
                         std::span<const BufferSlice> callers, Sequence& sequence) {
  return Materializer(engine, schedule, kernels, callers, sequence).run();
}

}  // namespace felsite::vk
