#include "support/run_kernel.h"

#include <fmt/format.h>

#include "base/errors.h"
#include "base/try.h"
#include "dispatch/contract/caller_memory.h"
#include "vk/instance/vulkan_error.h"

namespace felsite::vk {
namespace {

using Clock = std::chrono::steady_clock;

// Nobody sees this kernel's grid but the kernel, so it cannot be run in parts.
Result<void> check_grid(const Device& device, const Launch& launch) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::uint32_t most = device.capabilities().limits.workgroup_count[axis];
    if (launch.grid[axis] <= most) continue;
    return std::unexpected(
        over_limit(fmt::format("The grid has {} workgroups on axis {}; the device takes {}.",
                               launch.grid[axis], "xyz"[axis], most),
                   "use fewer workgroups on that axis, or larger ones.", device.snapshot().name,
                   launch.grid[axis], most));
  }
  return {};
}

}  // namespace

// Work that exceeded its timeout may still run. If it does not end soon, device and queue stay.
KernelContext::~KernelContext() {
  if (queue == nullptr || queue->drain(std::chrono::seconds(5))) return;
  kernel->device.leave_open();
  static_cast<void>(queue.release());
}

Result<void> BoundKernel::make_recording(const Launch& launch) {
  const SharedKernel& kernel = context_->kernel;
  std::vector<BufferSlice> slices;
  std::vector<std::uint64_t> counts;
  for (const dispatch::BoundBuffer& buffer : plan_.buffers) {
    slices.push_back({nullptr, 0, buffer.bytes});
    counts.push_back(buffer.count);
  }
  FELSITE_TRY(auto step, make_kernel_step(kernel, counts, slices, launch.grid, launch.parameters));
  step.name = kernel->program.name();
  step.caller_step = 0;
  // Checked before anything so large is allocated.
  FELSITE_CHECK(check_ranges(context_->memory.device(), step));
  for (std::size_t i = 0; i < step.buffers.size(); ++i) {
    const ir::BufferId id = kernel->kernel.buffers[i].buffer;
    FELSITE_TRY(auto buffer, context_->memory.make(Place::Control, step.buffers[i].bytes,
                                                   {step.name, kernel->program.buffer(id).name}));
    step.buffers[i].buffer = buffer;
    step.accesses.push_back({step.buffers[i], kernel->kernel.buffers[i].written});
    buffers_.push_back(std::move(buffer));
  }
  Sequence sequence;
  sequence.name = step.name;
  sequence.measured = launch.measure_device_time;
  sequence.prefix.push_back(std::move(step));
  FELSITE_TRY(recording_, Recording::make(context_->memory, std::move(sequence)));
  return {};
}

Result<void> BoundKernel::write_inputs(std::span<const ByteSpan> inputs) {
  const KernelOnDevice& on = *context_->kernel;
  const auto plan = dispatch::plan_inputs(on.program, inputs, {});
  if (!plan) return std::unexpected(on.with_context(plan.error()));
  for (std::size_t i = 0; i < plan->buffers.size(); ++i) {
    if (plan->buffers[i].bytes == plan_.buffers[i].bytes) continue;
    return std::unexpected(
        on.with_context(base::bad_inputs("An input has another size than the one that was bound.",
                                         "bind the kernel again for inputs of other sizes.")));
  }
  const auto contents_of = [&](const dispatch::BoundBuffer& buffer, std::uint64_t bytes) {
    const ByteSpan input = buffer.input == ir::kNone ? ByteSpan{} : inputs[buffer.input];
    Bytes contents(input.begin(), input.end());
    contents.resize(bytes);
    return contents;
  };
  std::vector<bool> is_bound(plan->buffers.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const ir::BufferId id = on.kernel.buffers[i].buffer;
    is_bound[id] = true;
    const Bytes contents = contents_of(plan->buffers[id], buffers_[i]->range());
    if (auto written = buffers_[i]->write(0, contents); !written) {
      return std::unexpected(on.with_context(std::move(written.error())));
    }
  }
  unbound_outputs_.assign(plan->output_count, {});
  for (std::size_t id = 0; id < plan->buffers.size(); ++id) {
    const dispatch::BoundBuffer& buffer = plan->buffers[id];
    if (is_bound[id] || buffer.output == ir::kNone) continue;
    unbound_outputs_[buffer.output] = contents_of(buffer, buffer.bytes);
  }
  return {};
}

Result<void> BoundKernel::submit_once(std::chrono::nanoseconds timeout) {
  WorkQueue& queue = *context_->queue;
  WorkQueue::Place place = WorkQueue::make_place();
  FELSITE_TRY(const auto ticket, recording_->submit(queue, {}));
  if (auto finished = queue.wait(ticket, timeout); !finished) {
    queue.keep(ticket, std::move(recording_), std::move(place));
    return finished;
  }
  return recording_->check_status();
}

Result<SubmissionTiming> BoundKernel::submit_and_wait(std::uint32_t times,
                                                      std::chrono::nanoseconds timeout) {
  const KernelOnDevice& on = *context_->kernel;
  if (recording_ == nullptr) {
    return std::unexpected(on.with_context(
        base::dispatch_failed("An earlier submission was not seen to end and may run "
                              "still.",
                              "bind the kernel again.")));
  }
  SubmissionTiming timing;
  const Clock::time_point start = Clock::now();
  for (std::uint32_t i = 0; i < times; ++i) {
    if (auto done = submit_once(timeout); !done) {
      return std::unexpected(on.with_context(std::move(done.error())));
    }
  }
  timing.wall = Clock::now() - start;
  if (times == 0) return timing;
  const auto measured = recording_->device_times();
  if (!measured) return std::unexpected(on.with_context(measured.error()));
  if (measured->total_ns) timing.device_time = std::chrono::nanoseconds(*measured->total_ns);
  return timing;
}

Result<std::vector<Bytes>> BoundKernel::read_outputs() const {
  const KernelOnDevice& on = *context_->kernel;
  std::vector<Bytes> outputs = unbound_outputs_;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const dispatch::BoundBuffer& buffer = plan_.buffers[on.kernel.buffers[i].buffer];
    if (buffer.output == ir::kNone) continue;
    Bytes& contents = outputs[buffer.output];
    contents.resize(buffer.bytes);
    if (auto read = buffers_[i]->read(0, contents); !read) {
      return std::unexpected(on.with_context(std::move(read.error())));
    }
  }
  return outputs;
}

Result<PreparedKernel> PreparedKernel::prepare(Device& device, codegen::Kernel kernel,
                                               ir::Program program) {
  FELSITE_TRY(auto on, put_on_device(device, std::move(kernel), std::move(program)));
  auto queue = WorkQueue::make(device, device.compute_queue(), "compute queue");
  if (!queue) return std::unexpected(on->with_context(std::move(queue.error())));
  return PreparedKernel(
      std::shared_ptr<KernelContext>(new KernelContext{Memory(device), std::move(*queue), on}));
}

Result<BoundKernel> PreparedKernel::bind(std::span<const ByteSpan> inputs,
                                         const Launch& launch) const {
  const KernelOnDevice& on = *context_->kernel;
  if (auto fits = check_grid(on.device, launch); !fits) {
    return std::unexpected(on.with_context(std::move(fits.error())));
  }
  auto plan = dispatch::plan_inputs(on.program, inputs, {});
  if (!plan) return std::unexpected(on.with_context(std::move(plan.error())));
  BoundKernel bound(context_, std::move(*plan));
  Result<void> done = bound.make_recording(launch);
  if (done) done = bound.write_inputs(inputs);
  if (!done) return std::unexpected(on.with_context(std::move(done.error())));
  return bound;
}

Result<std::vector<Bytes>> PreparedKernel::run(std::span<const ByteSpan> inputs,
                                               const Launch& launch,
                                               std::chrono::nanoseconds timeout) const {
  FELSITE_TRY(auto bound, bind(inputs, launch));
  FELSITE_CHECK(bound.submit_and_wait(1, timeout));
  return bound.read_outputs();
}

Result<std::vector<Bytes>> run_kernel(Device& device, const codegen::Kernel& kernel,
                                      const ir::Program& program, std::span<const ByteSpan> inputs,
                                      const Launch& launch, std::chrono::nanoseconds timeout) {
  FELSITE_TRY(const auto prepared, PreparedKernel::prepare(device, kernel, program));
  return prepared.run(inputs, launch, timeout);
}

}  // namespace felsite::vk
