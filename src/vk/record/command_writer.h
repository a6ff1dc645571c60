// Writes one command buffer. It remembers what is bound and which condition is in force, so that
// nothing is recorded twice.
#pragma once

#include <optional>
#include <vector>

#include "dispatch/barriers/barrier_plan.h"
#include "vk/record/descriptors.h"

namespace felsite::vk {

class CommandWriter {
 public:
  // `family`: the queue family of the command pool that `commands` comes from.
  CommandWriter(const Device& device, VkCommandBuffer commands, const QueueFamily& family,
                const DescriptorSets& sets)
      : device_(device), commands_(commands), sets_(sets), labels_(takes_labels(family.flags)) {}

  Result<void> begin(bool runs_often);
  Result<void> end();

  void barrier(const dispatch::PlannedBarrier& barrier);
  void fill(const FillStep& fill);
  void copy(VkBuffer from, std::uint64_t from_offset, VkBuffer to, std::uint64_t to_offset,
            std::uint64_t bytes);
  void kernel(const KernelStep& step, const ControlBlocks& blocks, VkBuffer control);
  void reset_queries(VkQueryPool queries, std::uint32_t first, std::uint32_t count);
  void timestamp(VkQueryPool queries, std::uint32_t query);

 private:
  void dispatch_part(const KernelStep& step, const ControlBlocks& blocks, VkBuffer control,
                     const dispatch::GridPart& part, std::size_t part_index);
  void push(const KernelOnDevice& kernel, std::vector<std::uint32_t> parameters);
  void set_condition(const std::optional<BufferSlice>& condition);
  StepLabel label(std::string_view name) const {
    return {device_.instance(), commands_, name, labels_};
  }

  const Device& device_;
  const VkCommandBuffer commands_;
  const DescriptorSets& sets_;
  const bool labels_;
  VkPipeline pipeline_ = VK_NULL_HANDLE;
  std::optional<Binding> bound_;
  std::vector<std::uint32_t> pushed_;
  struct Condition {
    VkBuffer buffer;
    std::uint64_t offset;
    bool operator==(const Condition&) const = default;
  };
  std::optional<Condition> condition_;  // in force
};

}  // namespace felsite::vk
