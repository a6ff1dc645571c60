#include "vk/run_kernel.h"

#include <cmath>
#include <cstring>

#include "vk/bound_resources.h"
#include "vk/kernel_status.h"

namespace felsite::vk {
namespace {

using Clock = std::chrono::steady_clock;

Result<dispatch::BindingPlan> plan_inputs(const ir::Program& program,
                                          std::span<const ByteSpan> inputs) {
  std::vector<std::uint64_t> sizes;
  for (const ByteSpan input : inputs) sizes.push_back(input.size());
  return dispatch::plan_bindings(program, sizes, {});
}

Result<std::chrono::nanoseconds> device_time(const BoundResources& bound) {
  const Device& device = bound.kernel->device;
  std::array<std::uint64_t, 2> ticks{};
  const VkResult result = device.functions().vkGetQueryPoolResults(
      device.handle(), bound.timestamps.get(), 0, 2, sizeof ticks, ticks.data(), sizeof ticks[0],
      VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS) return std::unexpected(device.error(result, "read the timestamps"));
  const std::uint32_t bits = device.timestamp_bits();
  const std::uint64_t mask = bits >= 64 ? UINT64_MAX : (std::uint64_t{1} << bits) - 1;
  const auto elapsed = static_cast<double>((ticks[1] - ticks[0]) & mask);
  const double period = device.snapshot().limits.timestamp_period_ns;
  return std::chrono::nanoseconds(std::llround(elapsed * period));
}

}  // namespace

BoundKernel::BoundKernel(std::shared_ptr<BoundResources> resources)
    : resources_(std::move(resources)) {}
BoundKernel::BoundKernel(BoundKernel&& other) noexcept = default;

BoundKernel::~BoundKernel() {
  if (resources_ == nullptr || !running_) return;
  Device& device = resources_->kernel->device;
  const VkFence fence = resources_->fence.get();
  device.abandon(fence, std::move(resources_));
}

Result<void> BoundKernel::write_inputs(std::span<const ByteSpan> inputs) {
  const KernelOnDevice& on = *resources_->kernel;
  const auto plan = plan_inputs(on.program, inputs);
  if (!plan) return std::unexpected(on.with_context(plan.error()));
  for (std::size_t i = 0; i < plan->buffers.size(); ++i) {
    if (plan->buffers[i].bytes == resources_->plan.buffers[i].bytes) continue;
    return std::unexpected(
        on.with_context(Error{.code = ErrorCode::BadInputs,
                              .message = "An input has another size than the one that was bound.",
                              .fix = "bind the kernel again for inputs of other sizes.",
                              .context = {}}));
  }
  const auto given = [&](const dispatch::BoundBuffer& buffer) {
    return buffer.input == ir::kNone ? ByteSpan{} : inputs[buffer.input];
  };
  std::vector<bool> is_bound(plan->buffers.size());
  for (std::size_t i = 0; i < on.kernel.buffers.size(); ++i) {
    const ir::BufferId id = on.kernel.buffers[i].buffer;
    is_bound[id] = true;
    if (auto written = resources_->buffers[i].write(given(plan->buffers[id])); !written) {
      return std::unexpected(on.with_context(std::move(written.error())));
    }
  }
  resources_->unbound_outputs.assign(plan->output_count, {});
  for (std::size_t id = 0; id < plan->buffers.size(); ++id) {
    const dispatch::BoundBuffer& buffer = plan->buffers[id];
    if (is_bound[id] || buffer.output == ir::kNone) continue;
    const ByteSpan input = given(buffer);
    Bytes& contents = resources_->unbound_outputs[buffer.output];
    contents.assign(input.begin(), input.end());
    contents.resize(buffer.bytes);
  }
  return {};
}

Result<void> BoundKernel::submit_once(std::chrono::nanoseconds timeout) {
  const KernelOnDevice& on = *resources_->kernel;
  if (resources_->status) {
    if (auto cleared = resources_->status->write({}); !cleared) return cleared;
  }
  const VkFence fence = resources_->fence.get();
  const VkResult reset = on.device.functions().vkResetFences(on.device.handle(), 1, &fence);
  if (reset != VK_SUCCESS) return std::unexpected(on.device.error(reset, "reset a fence"));
  if (auto submitted = on.device.submit(resources_->commands, fence); !submitted) return submitted;
  running_ = true;
  auto finished = on.device.wait(fence, timeout);
  // Whatever else kept the wait from its end, the work may go on; a lost device runs nothing.
  running_ = !finished && finished.error().code != ErrorCode::DeviceLost;
  if (!finished) return finished;
  if (!resources_->status) return {};
  codegen::Status status{};
  if (auto read = resources_->status->read(std::as_writable_bytes(std::span(&status, 1))); !read) {
    return read;
  }
  if (auto failed = error_of(status, on.kernel)) return std::unexpected(std::move(*failed));
  return {};
}

Result<SubmissionTiming> BoundKernel::submit_and_wait(std::uint32_t times,
                                                      std::chrono::nanoseconds timeout) {
  const KernelOnDevice& on = *resources_->kernel;
  if (running_) {
    return std::unexpected(
        on.with_context(Error{.code = ErrorCode::DispatchFailed,
                              .message = "An earlier submission was not seen to end and may run "
                                         "still.",
                              .fix = "bind the kernel again.",
                              .context = {}}));
  }
  SubmissionTiming timing;
  const Clock::time_point start = Clock::now();
  for (std::uint32_t i = 0; i < times; ++i) {
    if (auto done = submit_once(timeout); !done) {
      return std::unexpected(on.with_context(std::move(done.error())));
    }
  }
  timing.wall = Clock::now() - start;
  if (times != 0 && resources_->timestamps.get() != VK_NULL_HANDLE) {
    auto measured = device_time(*resources_);
    if (!measured) return std::unexpected(on.with_context(std::move(measured.error())));
    timing.device_time = *measured;
  }
  return timing;
}

Result<std::vector<Bytes>> BoundKernel::read_outputs() const {
  const KernelOnDevice& on = *resources_->kernel;
  std::vector<Bytes> outputs = resources_->unbound_outputs;
  for (std::size_t i = 0; i < on.kernel.buffers.size(); ++i) {
    const dispatch::BoundBuffer& buffer = resources_->plan.buffers[on.kernel.buffers[i].buffer];
    if (buffer.output == ir::kNone) continue;
    Bytes& contents = outputs[buffer.output];
    contents.resize(buffer.bytes);
    if (auto read = resources_->buffers[i].read(contents); !read) {
      return std::unexpected(on.with_context(std::move(read.error())));
    }
  }
  return outputs;
}

Result<PreparedKernel> PreparedKernel::prepare(Device& device, codegen::Kernel kernel,
                                               ir::Program program) {
  auto on = std::make_shared<KernelOnDevice>(
      KernelOnDevice{device, std::move(kernel), std::move(program), {}});
  auto pipeline = make_pipeline(device, on->kernel);
  if (!pipeline) return std::unexpected(on->with_context(std::move(pipeline.error())));
  on->pipeline = std::move(*pipeline);
  return PreparedKernel(std::move(on));
}

Result<BoundKernel> PreparedKernel::bind(std::span<const ByteSpan> inputs,
                                         const Launch& launch) const {
  auto plan = plan_inputs(kernel_->program, inputs);
  if (!plan) return std::unexpected(kernel_->with_context(std::move(plan.error())));
  auto resources = make_bound_resources(kernel_, std::move(*plan), launch);
  if (!resources) return std::unexpected(kernel_->with_context(std::move(resources.error())));
  BoundKernel bound(std::move(*resources));
  if (auto written = bound.write_inputs(inputs); !written) {
    return std::unexpected(std::move(written.error()));
  }
  return bound;
}

Result<std::vector<Bytes>> PreparedKernel::run(std::span<const ByteSpan> inputs,
                                               const Launch& launch,
                                               std::chrono::nanoseconds timeout) const {
  auto bound = bind(inputs, launch);
  if (!bound) return std::unexpected(std::move(bound.error()));
  if (auto done = bound->submit_and_wait(1, timeout); !done) {
    return std::unexpected(std::move(done.error()));
  }
  return bound->read_outputs();
}

Result<std::vector<Bytes>> run_kernel(Device& device, const codegen::Kernel& kernel,
                                      const ir::Program& program, std::span<const ByteSpan> inputs,
                                      const Launch& launch, std::chrono::nanoseconds timeout) {
  const auto prepared = PreparedKernel::prepare(device, kernel, program);
  if (!prepared) return std::unexpected(prepared.error());
  return prepared->run(inputs, launch, timeout);
}

}  // namespace felsite::vk
