// Steps that are skipped if a word is zero: by a condition, or by indirect grids that are
// then empty.
#include <algorithm>

#include "base/try.h"
#include "dispatch/forms/step_writer.h"

namespace felsite::dispatch {
namespace {

constexpr std::uint64_t kShapeWords = 3;  // the workgroups of one dispatch along each axis

}  // namespace

void Gates::shape(std::span<const ScheduledStep> iteration, std::uint32_t gates) {
  if (by_condition()) return;
  std::vector<std::uint32_t> shapes;
  for (const ScheduledStep& step : iteration) {
    if (step.indirect) continue;
    for (const ScheduledStep& part : writer_.in_parts(step)) {
      shapes.insert(shapes.end(), part.workgroups.begin(), part.workgroups.end());
    }
  }
  // The step that opens the next gate is also behind this gate, and copies as many words.
  const std::uint64_t words = shapes.size() + kShapeWords;
  const auto groups = static_cast<std::uint32_t>((words + kGridKernelSize - 1) / kGridKernelSize);
  shapes.insert(shapes.end(), {groups, 1, 1});
  words_ = words;
  stride_ = (words * 4 + writer_.alignment() - 1) / writer_.alignment() * writer_.alignment();
  shapes_ =
      writer_.add_buffer(PlannedBuffer::Kind::Control, words * 4, "shapes", std::move(shapes));
  gates_ = writer_.add_control(std::max<std::uint64_t>(stride_ * gates, 4), "gates");
}

std::optional<BufferRef> Gates::all() const {
  if (gates_.buffer == BufferRef::kUnbound) return std::nullopt;
  return gates_;
}

BufferRef Gates::gate(std::uint32_t number) const {
  return {gates_.buffer, stride_ * number, words_ * 4};
}

Result<ScheduledStep> Gates::gate_step(const BufferRef& word, std::uint32_t number) {
  return writer_.runtime_step(GridKernel::Gate, {word, shapes_, gate(number)}, words_);
}

Result<std::vector<ScheduledStep>> Gates::behind(std::vector<ScheduledStep> steps,
                                                 const BufferRef& word, std::uint32_t number) {
  if (by_condition()) {
    for (ScheduledStep& step : steps) step.condition = word;
    return steps;
  }
  std::vector<ScheduledStep> parts;
  std::uint64_t at = gate(number).offset;
  for (ScheduledStep& step : steps) {
    if (step.indirect) {
      FELSITE_TRY(auto close, writer_.runtime_step(GridKernel::Mask, {word, *step.indirect},
                                                   step.indirect->bytes / 4));
      parts.push_back(std::move(close));
      parts.push_back(std::move(step));
      continue;
    }
    for (ScheduledStep& part : writer_.in_parts(step)) {
      part.indirect = BufferRef{gates_.buffer, at, kShapeWords * 4};
      at += kShapeWords * 4;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace felsite::dispatch
