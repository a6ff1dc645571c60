// A kernel with its pipeline on a device, and the program it came from.
#pragma once

#include <memory>

#include "dispatch/contract/service.h"
#include "felsite/kernel.h"
#include "vk/kernel/pipeline.h"

namespace felsite::vk {

struct KernelOnDevice final : dispatch::CompiledKernel {
  KernelOnDevice(Device& on, codegen::Kernel lowered, ir::Program from)
      : device(on), kernel(std::move(lowered)), program(std::move(from)) {}
  std::vector<Use> uses() const override;

  Device& device;
  codegen::Kernel kernel;
  ir::Program program;
  Pipeline pipeline{};

  Error with_context(Error error) const;
};
using SharedKernel = std::shared_ptr<const KernelOnDevice>;

// `kernel` is what `program`, or a segment of it, was lowered to.
Result<SharedKernel> put_on_device(Device& device, codegen::Kernel kernel, ir::Program program,
                                   VkPipelineCache cache = VK_NULL_HANDLE);

}  // namespace felsite::vk
