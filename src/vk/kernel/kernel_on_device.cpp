#include "vk/kernel/kernel_on_device.h"

namespace felsite::vk {

std::vector<dispatch::CompiledKernel::Use> KernelOnDevice::uses() const {
  std::vector<Use> uses;
  for (const codegen::BufferBinding& binding : kernel.buffers) {
    uses.push_back({binding.buffer, binding.written});
  }
  return uses;
}

Error KernelOnDevice::with_context(Error error) const {
  error.context.program = program.name();
  error.context.device = device.snapshot().name;
  return error;
}

Result<SharedKernel> put_on_device(Device& device, codegen::Kernel kernel, ir::Program program,
                                   VkPipelineCache cache) {
  auto on = std::make_shared<KernelOnDevice>(device, std::move(kernel), std::move(program));
  auto pipeline = make_pipeline(device, on->kernel, on->program.name(), cache);
  if (!pipeline) return std::unexpected(on->with_context(std::move(pipeline.error())));
  on->pipeline = std::move(*pipeline);
  return on;
}

}  // namespace felsite::vk
