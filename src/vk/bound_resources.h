// What one bound kernel holds on the device: buffers, descriptor set, recorded commands, fence.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dispatch/binding_plan.h"
#include "vk/host_buffer.h"
#include "vk/pipeline.h"
#include "vk/run_kernel.h"

namespace felsite::vk {

struct KernelOnDevice {
  Device& device;
  codegen::Kernel kernel;
  ir::Program program;
  Pipeline pipeline;

  Error with_context(Error error) const;
};

struct BoundResources {
  std::shared_ptr<const KernelOnDevice> kernel;  // the pipeline must outlive the commands
  dispatch::BindingPlan plan;
  std::vector<HostBuffer> buffers;  // as Kernel::buffers
  std::optional<HostBuffer> status;
  std::optional<HostBuffer> parameters;
  std::vector<Bytes> unbound_outputs;  // by output: contents of those that the kernel does not use
  Owned<VkDescriptorPool> descriptor_pool;
  VkDescriptorSet descriptor_set = VK_NULL_HANDLE;  // the pool's
  Owned<VkQueryPool> timestamps;                    // only where device time is measured
  // A pool of its own: recording then needs no lock against other threads.
  Owned<VkCommandPool> command_pool;
  VkCommandBuffer commands = VK_NULL_HANDLE;  // the pool's
  Owned<VkFence> fence;
};

// Everything is made and recorded, nothing is submitted, and the buffers are not written yet.
Result<std::shared_ptr<BoundResources>> make_bound_resources(
    std::shared_ptr<const KernelOnDevice> kernel, dispatch::BindingPlan plan, const Launch& launch);

}  // namespace felsite::vk
