#include "vk/schedule/make_sequence.h"

#include "base/try.h"
#include "vk/instance/vulkan_error.h"
#include "vk/schedule/materialize.h"

namespace felsite::vk {
namespace {

using dispatch::PlacedStep;

Result<void> materialize(Engine& engine, const PlacedStep& step, Sequence& sequence) {
  std::vector<SharedKernel> kernels;
  for (const dispatch::SharedCompiledKernel& kernel : step.kernels) {
    kernels.push_back(std::static_pointer_cast<const KernelOnDevice>(kernel));
  }
  std::vector<BufferSlice> slices;
  for (const dispatch::MemoryRange& range : step.memory) {
    slices.push_back(slice_of(dispatch::bound_memory(range, engine.profile())));
  }
  return materialize(engine, step.schedule, kernels, slices, sequence);
}

// One of several steps.
Result<void> add_step(Engine& engine, const PlacedStep& step, std::vector<KernelStep>& steps,
                      Sequence& sequence) {
  if (step.schedule.watch) {
    Error error = unsupported(
        "A step of a sequence has grid barriers in loops or conditions that only the device can "
        "evaluate.",
        "run the program by itself, by dispatch_resident.", engine.device().snapshot().name);
    error.context.step = step.caller_step;
    error.context.program = step.program.name();
    return std::unexpected(std::move(error));
  }
  Sequence own;
  own.name = sequence.name;
  FELSITE_CHECK(materialize(engine, step, own));
  for (KernelStep& made : own.prefix) {
    if (made.caller_step) {
      made.caller_step = step.caller_step;
      made.counts_as_launch = true;
    }
    steps.push_back(std::move(made));
  }
  for (IndirectGate& gate : own.gates) {
    sequence.gates.push_back({std::move(gate.words), step.caller_step});
  }
  std::ranges::move(own.host_words, std::back_inserter(sequence.host_words));
  sequence.own_bytes += own.own_bytes;
  return {};
}

}  // namespace

Result<Sequence> make_sequence(Engine& engine, const dispatch::Submission& submission) {
  Sequence sequence;
  sequence.name = submission.name;
  sequence.measured = submission.is_measured;
  sequence.is_alone = submission.is_alone;
  sequence.own_bytes = submission.own_bytes;
  sequence.count = submission.count;
  for (const dispatch::Submission::Fill& fill : submission.fills) {
    sequence.fills.push_back({slice_of(fill.target), fill.value});
  }
  for (const auto& upload : submission.uploads) sequence.uploads.push_back(slice_of(upload));
  for (const auto& read : submission.reads) sequence.reads.push_back(slice_of(read));
  if (submission.is_one_program) {
    FELSITE_CHECK(materialize(engine, submission.prefix.front(), sequence));
    return sequence;
  }
  for (const PlacedStep& step : submission.prefix) {
    FELSITE_CHECK(add_step(engine, step, sequence.prefix, sequence));
  }
  for (const PlacedStep& step : submission.repeated) {
    FELSITE_CHECK(add_step(engine, step, sequence.repeated, sequence));
  }
  return sequence;
}

}  // namespace felsite::vk
