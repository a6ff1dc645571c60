// Steps that are skipped if a word is zero: by conditional rendering, or by indirect grids that are
// then empty.
#include <algorithm>

#include "base/try.h"
#include "vk/grid/grid_steps.h"

namespace felsite::vk {
namespace {

constexpr std::uint64_t kShapeWords = 3;  // the workgroups of one dispatch along each axis

}  // namespace

Result<void> Gates::shape(std::span<const KernelStep> iteration, std::uint32_t gates) {
  if (by_condition()) return {};
  std::vector<std::uint32_t> shapes;
  for (const KernelStep& step : iteration) {
    for (const KernelStep& part : steps_.in_parts(step)) {
      shapes.insert(shapes.end(), part.grid.begin(), part.grid.end());
    }
  }
  // The step that opens the next gate is also behind this gate, and copies as many words.
  const std::uint64_t words = shapes.size() + kShapeWords;
  const auto groups = static_cast<std::uint32_t>((words + dispatch::kGridKernelSize - 1) /
                                                 dispatch::kGridKernelSize);
  shapes.insert(shapes.end(), {groups, 1, 1});
  words_ = words;
  stride_ = (words * 4 + steps_.alignment() - 1) / steps_.alignment() * steps_.alignment();
  FELSITE_TRY(shapes_, steps_.control(words * 4, "shapes"));
  FELSITE_CHECK(shapes_->write(0, std::as_bytes(std::span(shapes))));
  FELSITE_TRY(gates_, steps_.control(std::max<std::uint64_t>(stride_ * gates, 4), "gates"));
  return {};
}

std::optional<BufferSlice> Gates::all() const {
  if (gates_ == nullptr) return std::nullopt;
  return BufferSlice{gates_, 0, gates_->bytes()};
}

BufferSlice Gates::gate(std::uint32_t number) const {
  return {gates_, stride_ * number, words_ * 4};
}

Result<KernelStep> Gates::gate_step(const BufferSlice& word, std::uint32_t number) {
  return steps_.runtime_step(GridKernel::Gate, {word, {shapes_, 0, words_ * 4}, gate(number)},
                             words_);
}

std::vector<KernelStep> Gates::behind(std::vector<KernelStep> steps, const BufferSlice& word,
                                      std::uint32_t number) const {
  if (by_condition()) {
    for (KernelStep& step : steps) step.condition = word;
    return steps;
  }
  std::vector<KernelStep> parts;
  std::uint64_t at = gate(number).offset;
  for (const KernelStep& step : steps) {
    for (KernelStep& part : steps_.in_parts(step)) {
      part.indirect = BufferSlice{gates_, at, kShapeWords * 4};
      at += kShapeWords * 4;
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

}  // namespace felsite::vk
