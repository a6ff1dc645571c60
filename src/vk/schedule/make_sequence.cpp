#include "vk/schedule/make_sequence.h"

#include "base/try.h"
#include "vk/schedule/materialize.h"

namespace felsite::vk {

Result<Sequence> make_sequence(Engine& engine, const dispatch::Submission& submission,
                               std::size_t number) {
  Sequence sequence;
  sequence.name = submission.name;
  sequence.measured = submission.is_measured;
  sequence.is_alone = submission.is_alone;
  if (number == 0) {
    sequence.own_bytes = submission.own_bytes;
    for (const dispatch::Submission::Fill& fill : submission.fills) {
      sequence.fills.push_back({slice_of(fill.target), fill.value});
    }
    for (const auto& upload : submission.uploads) sequence.uploads.push_back(slice_of(upload));
  }
  if (number + 1 == submission.stages.size()) {
    for (const auto& read : submission.reads) sequence.reads.push_back(slice_of(read));
  }
  const dispatch::PlacedStage& stage = submission.stages[number];
  std::vector<SharedKernel> kernels;
  for (const dispatch::SharedCompiledKernel& kernel : stage.kernels) {
    kernels.push_back(std::static_pointer_cast<const KernelOnDevice>(kernel));
  }
  std::vector<BufferSlice> memory;
  for (const dispatch::MemoryRange& range : stage.memory) memory.push_back(slice_of(range));
  FELSITE_CHECK(materialize(engine, stage.stage.schedule, kernels, memory, sequence));
  return sequence;
}

}  // namespace felsite::vk
