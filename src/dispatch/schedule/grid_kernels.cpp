#include "dispatch/schedule/grid_kernels.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/errors.h"
#include "base/in_order.h"
#include "felsite/text.h"
#include "felsite/validate.h"
#include "grid_kernel_texts.h"

namespace felsite::dispatch {
namespace {

struct KernelText {
  GridKernel kernel;
  std::string_view text;
};
constexpr std::array<KernelText, kGridKernelCount> kTexts{{
    {GridKernel::Compare, kernels::compare},
    {GridKernel::Any, kernels::any},
    {GridKernel::Clear, kernels::clear},
    {GridKernel::CopyWords, kernels::copy_words},
    {GridKernel::CopyBytes, kernels::copy_bytes},
    {GridKernel::Gate, kernels::gate},
    {GridKernel::Mask, kernels::mask},
    {GridKernel::Advance, kernels::advance},
    {GridKernel::NextSegment, kernels::next_segment},
    {GridKernel::IterationEndCounted, kernels::iteration_end_counted},
    {GridKernel::IterationEndChanged, kernels::iteration_end_changed},
    {GridKernel::IterationEndFlag, kernels::iteration_end_flag},
}};
static_assert(base::in_order(kTexts, &KernelText::kernel));

Result<ir::ValidProgram> parse_kernel(std::string_view text) {
  auto program = ir::parse(text);
  if (!program) return std::unexpected(ir::to_error(program.error(), "felsite"));
  return ir::require_valid(*std::move(program));
}

// Puts another number into the line `let NAME = NUMBER;`, which the text must have.
void set_constant(std::string& text, std::string_view name, std::uint32_t value) {
  const std::string line = fmt::format("let {} = ", name);
  const std::size_t at = text.find(line) + line.size();
  text.replace(at, text.find(';', at) - at, fmt::to_string(value));
}

}  // namespace

const Result<ir::ValidProgram>& grid_kernel(GridKernel kernel) {
  static const auto programs = [] {
    std::vector<Result<ir::ValidProgram>> parsed;
    for (const KernelText& row : kTexts) parsed.push_back(parse_kernel(row.text));
    return parsed;
  }();
  return programs[static_cast<std::size_t>(kernel)];
}

Result<ir::ValidProgram> indirect_gate_program(std::uint32_t first_word, const Extent3& most) {
  std::string text(kernels::indirect_gate);
  for (std::uint32_t axis = 0; axis < 3; ++axis) {
    set_constant(text, fmt::format("{}_at", "xyz"[axis]), first_word + axis);
    set_constant(text, fmt::format("most_{}", "xyz"[axis]), most[axis]);
  }
  return parse_kernel(text);
}

Result<void> check_indirect_gate(std::span<const std::uint32_t> words, std::uint32_t caller_step,
                                 const DeviceProfile& device) {
  if (words[IndirectGateWords::kIsStopped] == 0) return {};
  const auto asked = words.subspan(IndirectGateWords::kAsked, 3);
  Error error = base::with_device(
      base::unsupported(
          fmt::format("The program's IndirectDispatch reads a grid of {} x {} x {} workgroups, "
                      "which is more than the device takes.",
                      asked[0], asked[1], asked[2]),
          "compute a smaller grid, or let the host know it: given with the dispatch, or in the "
          "host split, it runs in parts.",
          {}),
      device.name);
  error.context.step = caller_step;
  return std::unexpected(base::with_amounts(std::move(error), std::ranges::max(asked),
                                            device.workgroups_per_dispatch[0]));
}

}  // namespace felsite::dispatch
