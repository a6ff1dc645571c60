#include "vk/record/command_writer.h"

#include <array>

#include "base/in_order.h"

namespace felsite::vk {
namespace {

using dispatch::Stage;
using dispatch::StageSet;

struct StageMeaning {
  Stage stage;
  VkPipelineStageFlags pipeline;
  VkAccessFlags writes;
  VkAccessFlags all;
};
// The flags of synchronization2 are the same bits.
constexpr std::array<StageMeaning, dispatch::kStageCount> kStages{{
    {Stage::Compute, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
     VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT},
    {Stage::Transfer, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT},
    {Stage::Indirect, VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, VK_ACCESS_INDIRECT_COMMAND_READ_BIT},
    {Stage::Host, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_WRITE_BIT,
     VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT},
    {Stage::Condition, VK_PIPELINE_STAGE_CONDITIONAL_RENDERING_BIT_EXT, 0,
     VK_ACCESS_CONDITIONAL_RENDERING_READ_BIT_EXT},
}};
static_assert(base::in_order(kStages, &StageMeaning::stage));

template <class Flags>
Flags flags_of(StageSet stages, Flags StageMeaning::*member) {
  Flags flags = 0;
  for (const StageMeaning& row : kStages) {
    if (stages.has(row.stage)) flags |= row.*member;
  }
  return flags;
}

}  // namespace

Result<void> CommandWriter::begin(bool runs_often) {
  VkCommandBufferBeginInfo info{};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
  if (runs_often) info.flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT;
  const VkResult result = device_.functions().vkBeginCommandBuffer(commands_, &info);
  if (result != VK_SUCCESS) return std::unexpected(device_.error(result, "record commands"));
  return {};
}

Result<void> CommandWriter::end() {
  set_condition(std::nullopt);
  const VkResult result = device_.functions().vkEndCommandBuffer(commands_);
  if (result != VK_SUCCESS) return std::unexpected(device_.error(result, "record commands"));
  return {};
}

void CommandWriter::barrier(const dispatch::PlannedBarrier& barrier) {
  const DeviceFunctions& functions = device_.functions();
  const VkPipelineStageFlags from = flags_of(barrier.from, &StageMeaning::pipeline);
  const VkPipelineStageFlags to = flags_of(barrier.to, &StageMeaning::pipeline);
  const VkAccessFlags written = flags_of(barrier.writes_from, &StageMeaning::writes);
  // Where nothing was written, an execution dependency is enough.
  const VkAccessFlags seen = written == 0 ? 0 : flags_of(barrier.to, &StageMeaning::all);
  if (device_.plan().has(RuntimeFeature::Synchronization2)) {
    VkMemoryBarrier2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
    memory.srcStageMask = from;
    memory.srcAccessMask = written;
    memory.dstStageMask = to;
    memory.dstAccessMask = seen;
    VkDependencyInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    info.memoryBarrierCount = 1;
    info.pMemoryBarriers = &memory;
    functions.vkCmdPipelineBarrier2(commands_, &info);
    return;
  }
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = written;
  memory.dstAccessMask = seen;
  functions.vkCmdPipelineBarrier(commands_, from, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

void CommandWriter::fill(const FillStep& fill) {
  const BufferSlice& target = fill.target;
  if (target.bytes == 0) return;
  set_condition(std::nullopt);
  const StepLabel named = label("fill");
  const auto word = static_cast<std::uint32_t>(fill.value) * 0x0101'0101u;
  device_.functions().vkCmdFillBuffer(commands_, target.buffer->handle(), target.offset,
                                      (target.bytes + 3) / 4 * 4, word);
}

void CommandWriter::copy(VkBuffer from, std::uint64_t from_offset, VkBuffer to,
                         std::uint64_t to_offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  set_condition(std::nullopt);
  const StepLabel named = label("copy");
  const VkBufferCopy region{.srcOffset = from_offset, .dstOffset = to_offset, .size = bytes};
  device_.functions().vkCmdCopyBuffer(commands_, from, to, 1, &region);
}

// Steps with the same condition share one begin and end. Between these only dispatches depend on
// the condition; bindings, barriers and timestamps are executed in any case. A driver may read the
// word when the condition begins or before each dispatch, so the condition begins only here, after
// the barriers of the step.
void CommandWriter::set_condition(const std::optional<BufferSlice>& condition) {
  std::optional<Condition> wanted;
  if (condition) wanted = {condition->buffer->handle(), condition->offset};
  if (wanted == condition_) return;
  const DeviceFunctions& functions = device_.functions();
  if (condition_) functions.vkCmdEndConditionalRenderingEXT(commands_);
  condition_ = wanted;
  if (!wanted) return;
  VkConditionalRenderingBeginInfoEXT info{};
  info.sType = VK_STRUCTURE_TYPE_CONDITIONAL_RENDERING_BEGIN_INFO_EXT;
  info.buffer = wanted->buffer;
  info.offset = wanted->offset;
  functions.vkCmdBeginConditionalRenderingEXT(commands_, &info);
}

void CommandWriter::push(const KernelOnDevice& kernel, std::vector<std::uint32_t> parameters) {
  const std::uint32_t bytes = push_constant_bytes(kernel.kernel);
  if (bytes == 0 || parameters == pushed_) return;
  device_.functions().vkCmdPushConstants(commands_, kernel.pipeline.layout.get(),
                                         VK_SHADER_STAGE_COMPUTE_BIT, 0, bytes, parameters.data());
  pushed_ = std::move(parameters);
}

void CommandWriter::dispatch_part(const KernelStep& step, const ControlBlocks& blocks,
                                  VkBuffer control, const dispatch::GridPart& part,
                                  std::size_t part_index) {
  const DeviceFunctions& functions = device_.functions();
  const KernelOnDevice& kernel = *step.kernel;
  if (pipeline_ != kernel.pipeline.pipeline.get()) {
    pipeline_ = kernel.pipeline.pipeline.get();
    functions.vkCmdBindPipeline(commands_, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline_);
    // Each kernel has its own layout, so what another one bound is no longer valid.
    bound_.reset();
    pushed_.clear();
  }
  Binding binding = binding_of(step, blocks, part_index, control);
  if (!bound_ || !bound_->same_buffers(binding)) {
    sets_.bind(commands_, binding);
    bound_ = std::move(binding);
  }
  push(kernel, parameters_of(step, part));
  if (step.indirect) {
    functions.vkCmdDispatchIndirect(commands_, step.indirect->buffer->handle(),
                                    step.indirect->offset);
  } else {
    functions.vkCmdDispatch(commands_, part.grid[0], part.grid[1], part.grid[2]);
  }
}

void CommandWriter::kernel(const KernelStep& step, const ControlBlocks& blocks, VkBuffer control) {
  set_condition(step.condition);
  {
    const StepLabel named = label(step.name);
    std::vector<dispatch::GridPart> parts{dispatch::GridPart{}};
    if (!step.indirect)
      parts = dispatch::grid_parts(step.grid, device_.snapshot().limits.workgroup_count);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      dispatch_part(step, blocks, control, parts[i], i);
    }
  }
  if (writes_own_condition(step)) set_condition(std::nullopt);
}

void CommandWriter::reset_queries(VkQueryPool queries, std::uint32_t first, std::uint32_t count) {
  if (queries == VK_NULL_HANDLE || count == 0) return;
  set_condition(std::nullopt);
  device_.functions().vkCmdResetQueryPool(commands_, queries, first, count);
}

void CommandWriter::timestamp(VkQueryPool queries, std::uint32_t query) {
  if (queries == VK_NULL_HANDLE) return;
  device_.functions().vkCmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, queries,
                                          query);
}

}  // namespace felsite::vk
