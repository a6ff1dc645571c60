#include "dispatch/forms/submission_schedule.h"

#include <algorithm>

#include "base/align.h"
#include "base/guarded.h"
#include "base/try.h"
#include "dispatch/forms/converging_iterations.h"
#include "dispatch/forms/stage_writer.h"
#include "dispatch/schedule/step_accesses.h"

namespace felsite::dispatch {
namespace {

// Its schedule has repeated steps, or iterations.
bool has_own_iterations(const SubmittedStep& step) {
  return step.schedule.watch || step.iterates_block;
}
bool ends_stage(const SubmittedStep& step) { return has_own_iterations(step) || step.is_late; }

void append(std::vector<ScheduledStep>& to, std::vector<ScheduledStep> from) {
  std::ranges::move(from, std::back_inserter(to));
}

// The words of the submission's memory that the steps may change, as few ranges as possible.
std::vector<BufferRef> changed_memory(const SubmittedBlock& block) {
  std::vector<BufferRef> changed;
  for (const SubmittedStep& step : block.steps) {
    for (const BufferRef& whole : step.changed) {
      if (whole.bytes != 0)
        changed.push_back({whole.buffer, whole.offset, base::align_up(whole.bytes, 4)});
    }
    const SequencePlan plan = sequence_of(step.schedule);
    for (const auto* steps : {&plan.prologue, &plan.block}) {
      for (const PlannedStep& planned : *steps) {
        for (const BufferAccess& access : planned.accesses) {
          const bool is_callers =
              step.schedule.buffers[access.buffer].kind == PlannedBuffer::Kind::Caller;
          if (!access.writes || !is_callers) continue;
          const BufferRef& whole = step.memory[access.buffer];
          // An empty buffer is accessed in a few bytes that are nobody's.
          const std::uint64_t end = std::min(access.end, base::align_up(whole.bytes, 4));
          if (access.begin >= end) continue;
          changed.push_back({whole.buffer, whole.offset + access.begin, end - access.begin});
        }
      }
    }
  }
  const auto place = [](const BufferRef& ref) { return std::pair(ref.buffer, ref.offset); };
  std::ranges::sort(changed, {}, place);
  std::vector<BufferRef> merged;
  for (const BufferRef& ref : changed) {
    const bool touches = !merged.empty() && merged.back().buffer == ref.buffer &&
                         ref.offset <= merged.back().offset + merged.back().bytes;
    if (!touches) {
      merged.push_back(ref);
      continue;
    }
    BufferRef& last = merged.back();
    last.bytes = std::max(last.bytes, ref.offset + ref.bytes - last.offset);
  }
  return merged;
}

double invocations_of(const SubmittedBlock& block) {
  double total = 0;
  for (const SubmittedStep& step : block.steps) {
    for (const ScheduledStep& one : step.schedule.prefix) {
      const Extent3& size = step.schedule.kernels[one.kernel].program.workgroup_size();
      double work = 1;
      for (std::size_t axis = 0; axis < 3; ++axis)
        work *= double(one.workgroups[axis]) * size[axis];
      total += work;
    }
  }
  return total;
}

class Submissions {
 public:
  Submissions(std::span<const std::uint64_t> memory, const DeviceProfile& device)
      : device_(device) {
    for (const std::uint64_t bytes : memory) {
      memory_.push_back({.bytes = bytes, .name = "memory"});
    }
    open_stage();
  }

  Result<void> add(SubmittedBlock& block, std::uint32_t number) {
    if (block.steps.empty() || block.repeat.bound == 0) return {};
    zeros_.reset();
    flag_copy_.reset();
    if (std::ranges::any_of(block.steps, ends_stage)) return add_with_host(block, number);
    if (block.repeat.converges()) return add_converging(block, number);
    if (block.repeat.bound == 1) {
      add_to_prefix(block.steps);
      return {};
    }
    if (!stage_->out().repeated.empty()) next_stage();
    stage_->out().repeated = renumbered(block.steps, /*counts_launches=*/true);
    stage_->out().count = block.repeat.bound;
    return {};
  }

  SubmissionSchedule finish(bool reads) {
    const bool repeats = !made_.loops.empty() && made_.loops.back().end == made_.stages.size();
    const bool is_read =
        !made_.stages.empty() && (made_.stages.back().late_step || (reads && repeats));
    if (!stage_->is_empty() || made_.stages.empty() || is_read) next_stage();
    return std::move(made_);
  }

 private:
  void open_stage() {
    stage_.emplace(device_, memory_);
    zeros_.reset();
    flag_copy_.reset();
  }
  void next_stage() {
    made_.stages.push_back(stage_->finish());
    open_stage();
  }
  // Where steps can be added behind all others.
  Schedule& open_prefix() {
    if (!stage_->out().repeated.empty()) next_stage();
    return stage_->out();
  }

  std::vector<ScheduledStep> renumbered(std::span<SubmittedStep> steps, bool counts_launches) {
    std::vector<ScheduledStep> made;
    for (SubmittedStep& step : steps) {
      const StageWriter::Renumbering here(*stage_, step);
      append(made, here.steps(std::move(step.schedule.prefix), counts_launches));
    }
    return made;
  }

  void add_to_prefix(std::span<SubmittedStep> steps) {
    Schedule& out = open_prefix();  // before the steps get their numbers in it
    append(out.prefix, renumbered(steps, /*counts_launches=*/true));
  }

  // A stage ends with repeated steps, which the host submits until the walk has ended.
  void add_walk(SubmittedStep& step) {
    Schedule& out = open_prefix();
    const StageWriter::Renumbering here(*stage_, step);
    append(out.prefix, here.steps(std::move(step.schedule.prefix), false));
    out.repeated = here.steps(std::move(step.schedule.repeated), false);
    out.count = step.schedule.count;
    out.watch = here.ref(step.schedule.watch);
    if (step.schedule.outcome) {
      stage_->outcomes.push_back(
          {step.iterates_block.value_or(BlockOutcome::kNoBlock), here.outcome()});
    }
  }

  void add_late(const SubmittedStep& step) {
    if (!stage_->is_empty() || made_.stages.empty()) next_stage();
    stage_->late_step = step.caller_step;
    next_stage();
  }

  void add_steps(std::span<SubmittedStep> steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].is_late) {
        add_late(steps[i]);
      } else if (has_own_iterations(steps[i])) {
        add_walk(steps[i]);
      } else {
        add_to_prefix(steps.subspan(i, 1));
      }
    }
  }

  Result<void> add_with_host(SubmittedBlock& block, std::uint32_t number) {
    if (block.repeat.bound == 1 && !block.repeat.converges()) {
      add_steps(block.steps);
      return {};
    }
    HostLoop loop{.block = number, .bound = block.repeat.bound};
    std::vector<std::pair<BufferRef, BufferRef>> compared;  // now, before
    if (block.repeat.kind == BlockRepeat::Kind::UntilUnchanged) {
      for (const BufferRef& now : changed_memory(block))
        compared.emplace_back(now, share(now.bytes));
      const BufferRef unread = share(4);
      for (const auto& [now, before] : compared) {
        FELSITE_TRY(auto state, stage_at_prefix().comparison(now, before, unread));
        stage_->out().prefix.push_back(std::move(state));
      }
    }
    // The first stage of all also has the fills and uploads, which do not repeat.
    if (!stage_->is_empty() || made_.stages.empty()) next_stage();
    loop.first = static_cast<std::uint32_t>(made_.stages.size());
    if (block.flag) FELSITE_CHECK(add_clear(*block.flag, stage_at_prefix().out().prefix));
    add_steps(block.steps);
    if (block.repeat.converges()) {
      StageWriter& last = stage_at_prefix();
      loop.changed = last.add_control(4, "changed");
      last.begin_as_zeros(*loop.changed);
      for (const auto& [now, before] : compared) {
        FELSITE_TRY(auto step, last.comparison(now, before, *loop.changed));
        last.out().prefix.push_back(std::move(step));
      }
      if (block.flag) FELSITE_CHECK(add_any(*block.flag, *loop.changed, last.out().prefix));
    }
    next_stage();
    loop.end = static_cast<std::uint32_t>(made_.stages.size());
    made_.loops.push_back(loop);
    return {};
  }

  Result<void> add_converging(SubmittedBlock& block, std::uint32_t number) {
    std::vector<BufferRef> compared;
    if (block.repeat.kind == BlockRepeat::Kind::UntilUnchanged) compared = changed_memory(block);
    ConvergingBody body{.bound = block.repeat.bound, .invocations = invocations_of(block)};
    open_prefix();
    std::vector<BufferRef> before;
    for (const BufferRef& now : compared) {
      before.push_back(stage_->add_buffer(PlannedBuffer::Kind::Device, now.bytes, "state before"));
    }
    const std::vector<ScheduledStep> steps = renumbered(block.steps, /*counts_launches=*/false);
    body.steps = steps.size() + compared.size() + 2;
    body.iteration = [&](const BufferRef& changed,
                         const std::optional<BufferRef>&) -> ConvergingBody::Steps {
      std::vector<ScheduledStep> made;
      if (block.flag) FELSITE_CHECK(add_clear(*block.flag, made));
      made.insert(made.end(), steps.begin(), steps.end());
      if (block.flag) FELSITE_CHECK(add_any(*block.flag, changed, made));
      return made;
    };
    if (!compared.empty()) {
      body.comparisons = [&](const BufferRef& changed) -> ConvergingBody::Steps {
        std::vector<ScheduledStep> made;
        for (std::size_t i = 0; i < compared.size(); ++i) {
          FELSITE_TRY(auto step, stage_->comparison(compared[i], before[i], changed));
          made.push_back(std::move(step));
        }
        return made;
      };
    }
    BlockOutcome done{.block = number};
    done.outcome.bound = block.repeat.bound;
    done.outcome.launches_in_iteration =
        static_cast<std::uint32_t>(std::ranges::count_if(steps, &ScheduledStep::is_callers));
    FELSITE_CHECK(write_converging(*stage_, body, done.outcome));
    stage_->outcomes.push_back(std::move(done));
    return {};
  }

  // A flag may begin where no device binds memory: then its words are copied.
  bool can_be_bound(const BufferRef& words) const {
    return words.offset % binding_alignment(device_) == 0;
  }

  Result<void> add_copy(const BufferRef& from, const BufferRef& to_words,
                        std::vector<ScheduledStep>& to) {
    const auto bound = [&](const BufferRef& words) {
      const std::uint64_t start = words.offset % binding_alignment(device_);
      return BufferRef{words.buffer, words.offset - start, words.bytes + start};
    };
    const auto at = [&](const BufferRef& words) {
      return static_cast<std::uint32_t>(words.offset % binding_alignment(device_) / 4);
    };
    const auto count = static_cast<std::uint32_t>(from.bytes / 4);
    const std::array<std::uint32_t, 3> parameters{at(from), at(to_words), count};
    FELSITE_TRY(auto step, stage_->runtime_step(GridKernel::CopyWords,
                                                {bound(from), bound(to_words)}, count, parameters));
    to.push_back(std::move(step));
    return {};
  }

  Result<void> add_clear(const BufferRef& words, std::vector<ScheduledStep>& to) {
    if (!can_be_bound(words)) {
      if (!zeros_) {
        zeros_ = stage_->add_buffer(PlannedBuffer::Kind::Control, words.bytes, "zeros",
                                    std::vector<std::uint32_t>(words.bytes / 4));
      }
      return add_copy(*zeros_, words, to);
    }
    FELSITE_TRY(auto step, stage_->runtime_step(GridKernel::Clear, {words}, words.bytes / 4));
    to.push_back(std::move(step));
    return {};
  }
  Result<void> add_any(const BufferRef& words, const BufferRef& changed,
                       std::vector<ScheduledStep>& to) {
    if (!can_be_bound(words)) {
      if (!flag_copy_) {
        flag_copy_ = stage_->add_buffer(PlannedBuffer::Kind::Device, words.bytes, "flag");
      }
      FELSITE_CHECK(add_copy(words, *flag_copy_, to));
      return add_any(*flag_copy_, changed, to);
    }
    FELSITE_TRY(auto step,
                stage_->runtime_step(GridKernel::Any, {words, changed}, words.bytes / 4));
    to.push_back(std::move(step));
    return {};
  }

  StageWriter& stage_at_prefix() {
    open_prefix();
    return *stage_;
  }

  // Memory of all stages from this one on.
  BufferRef share(std::uint64_t bytes) {
    made_.shared.push_back(
        {.kind = PlannedBuffer::Kind::Device, .bytes = bytes, .name = "state before"});
    memory_.push_back({.bytes = bytes, .name = "state before"});
    if (!stage_->is_empty()) next_stage();
    open_stage();
    return {static_cast<std::uint32_t>(memory_.size() - 1), 0, bytes};
  }

  const DeviceProfile& device_;
  std::vector<PlannedBuffer> memory_;  // of the caller, then what stages share
  std::optional<StageWriter> stage_;
  // Of the block and the stage: for a flag that cannot be bound where it is.
  std::optional<BufferRef> zeros_;
  std::optional<BufferRef> flag_copy_;
  SubmissionSchedule made_;
};

// What the stages take beside the caller's memory.
Result<void> check_memory(const SubmissionSchedule& made, const DeviceProfile& device) {
  OwnMemory own;
  for (const PlannedBuffer& buffer : made.shared) own.add(buffer);
  for (const SubmissionStage& stage : made.stages) {
    const std::span<const PlannedBuffer> buffers = stage.schedule.buffers;
    for (const PlannedBuffer& buffer : buffers.subspan(stage.memory_count)) own.add(buffer);
  }
  return own.check(device, "the buffers of its steps", "for the submission",
                   "use smaller buffers, or fewer steps with grid barriers in one submission.", {});
}

}  // namespace

Result<SubmissionSchedule> make_submission_schedule(std::vector<SubmittedBlock> blocks,
                                                    std::span<const std::uint64_t> memory,
                                                    const DeviceProfile& device, bool reads) {
  return base::guarded([&]() -> Result<SubmissionSchedule> {
    Submissions submissions(memory, device);
    for (std::uint32_t i = 0; i < blocks.size(); ++i) {
      FELSITE_CHECK(submissions.add(blocks[i], i));
    }
    SubmissionSchedule made = submissions.finish(reads);
    FELSITE_CHECK(check_memory(made, device));
    return made;
  });
}

}  // namespace felsite::dispatch
