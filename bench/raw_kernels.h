// Work of several kernels written by hand in Vulkan: all on the same buffers in one descriptor set,
// in one command buffer that is recorded once.
#pragma once

#include <array>
#include <functional>

#include "raw_vulkan.h"

namespace felsite::bench {

class RawKernels {
 public:
  // The modules of the kernels, and the sizes of the buffers, which are bound in their order.
  RawKernels(SharedRawDevice device, std::span<const std::vector<std::uint32_t>> modules,
             std::span<const std::uint64_t> buffer_bytes, std::uint32_t parameters);
  ~RawKernels();
  RawKernels(const RawKernels&) = delete;
  RawKernels& operator=(const RawKernels&) = delete;

  // Once. What `commands` calls of the following is recorded.
  void record(const std::function<void()>& commands);
  void fill_with_zeros(std::size_t buffer);  // and lets kernels see it
  void use_kernel(std::size_t kernel);
  void push(std::uint32_t first, std::span<const std::uint32_t> words);
  void dispatch(std::uint32_t columns, std::uint32_t rows = 1);
  // What kernels wrote is seen by those behind it; and by what looks at conditions.
  void barrier(bool for_conditions = false);
  void begin_condition(std::size_t buffer, std::uint64_t offset);
  void end_condition();

  void submit();
  void wait();
  void run();  // and waits
  std::byte* mapped(std::size_t buffer) const { return buffers_[buffer]->mapped; }

 private:
  void make_set(const RawInterface& interface);

  SharedRawDevice device_;
  std::vector<std::unique_ptr<RawKernel>> kernels_;
  std::vector<std::unique_ptr<RawBuffer>> buffers_;
  VkDescriptorPool descriptors_ = VK_NULL_HANDLE;
  VkDescriptorSet set_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace felsite::bench
