#include "dispatch/contract/caller_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/errors.h"

namespace felsite::dispatch {

Result<BindingPlan> plan_inputs(const ir::Program& program, std::span<const ByteSpan> inputs,
                                const DispatchConfig& config) {
  std::vector<std::uint64_t> sizes;
  for (const ByteSpan input : inputs) sizes.push_back(input.size());
  return plan_bindings(program, sizes, config);
}

Result<void> check_result_memory(const BindingPlan& plan, std::uint64_t limit) {
  if (plan.output_bytes <= limit) return {};
  return std::unexpected(base::with_amounts(
      base::out_of_memory(
          fmt::format("The results take {} bytes, {} are available.", plan.output_bytes, limit),
          "declare smaller outputs, or raise the memory limit."),
      plan.output_bytes, limit));
}

Result<void> check_slots(std::span<const ByteSpan> inputs, std::span<const Bytes> slots) {
  for (const Bytes& slot : slots) {
    for (const ByteSpan input : inputs) {
      const bool apart = input.empty() || slot.capacity() == 0 ||
                         std::less_equal<>()(input.data() + input.size(), slot.data()) ||
                         std::less_equal<>()(slot.data() + slot.capacity(), input.data());
      if (apart) continue;
      return std::unexpected(base::bad_inputs("An input lies in the memory of an output slot.",
                                              "give inputs and output slots memory of their own."));
    }
  }
  return {};
}

bool is_all_zero(ByteSpan bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

std::optional<Extent3> indirect_grid(const ir::Program& program,
                                     const std::function<ByteSpan(ir::BufferId)>& contents) {
  if (!program.facts().has_indirect_dispatch) return std::nullopt;
  const ir::Node& node = program.node(program.entry().begin);
  const ByteSpan words = contents(node.ref);
  Extent3 grid{};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint64_t index = std::uint64_t{node.extra} + axis;
    // Past the end reads as zero, and a grid of zero workgroups runs nothing.
    if (index >= words.size() / 4) continue;
    std::memcpy(&grid[axis], words.data() + index * 4, 4);
  }
  return grid;
}

}  // namespace felsite::dispatch
