// One kernel on one device, without a backend: prepared once, bound to buffers, submitted as often
// as wanted. For tests and benchmarks of single kernels, also of those that no program was lowered
// to.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dispatch/schedule/binding_plan.h"
#include "felsite/kernel.h"
#include "vk/record/recording.h"
#include "vk/record/step_binding.h"

namespace felsite::vk {

struct Launch {
  Extent3 grid{1, 1, 1};                    // workgroups
  std::vector<std::uint32_t> parameters{};  // the elements of Segment::parameters
  bool measure_device_time = false;         // where the device has timestamps
};

struct SubmissionTiming {
  std::chrono::nanoseconds wall{};                      // of all submissions, waiting included
  std::optional<std::chrono::nanoseconds> device_time;  // of the last dispatch
};

// What a kernel runs with. The device must outlive it.
struct KernelContext {
  Memory memory;
  std::unique_ptr<WorkQueue> queue;
  SharedKernel kernel;

  ~KernelContext();
};

// A kernel with its buffers, ready to be submitted. The buffers keep their contents from one
// submission to the next. For one thread at a time.
class BoundKernel {
 public:
  // Fresh contents: the inputs as given, sized as those bound first, and zeros in all outputs.
  Result<void> write_inputs(std::span<const ByteSpan> inputs);
  // One after the other, each waited for; ends at the first that traps or exceeds `timeout`. After
  // a timeout the kernel is of no more use.
  Result<SubmissionTiming> submit_and_wait(std::uint32_t times = 1,
                                           std::chrono::nanoseconds timeout = kNoTimeout);
  // In declaration order.
  Result<std::vector<Bytes>> read_outputs() const;

 private:
  friend class PreparedKernel;
  BoundKernel(std::shared_ptr<KernelContext> context, dispatch::BindingPlan plan)
      : context_(std::move(context)), plan_(std::move(plan)) {}
  Result<void> make_recording(const Launch& launch);
  Result<void> submit_once(std::chrono::nanoseconds timeout);

  std::shared_ptr<KernelContext> context_;
  dispatch::BindingPlan plan_;
  std::vector<SharedBuffer> buffers_;   // as Kernel::buffers
  std::vector<Bytes> unbound_outputs_;  // by output: contents of those that the kernel does not use
  std::shared_ptr<Recording> recording_;  // none while one is not seen to end
};

// A kernel with its pipeline. Cheap to copy, usable from many threads; the device must outlive it.
class PreparedKernel {
 public:
  // `kernel` is what `program`, or a segment of it, was lowered to.
  static Result<PreparedKernel> prepare(Device& device, codegen::Kernel kernel,
                                        ir::Program program);

  // Inputs are the caller's, in declaration order.
  Result<BoundKernel> bind(std::span<const ByteSpan> inputs, const Launch& launch) const;
  Result<std::vector<Bytes>> run(std::span<const ByteSpan> inputs, const Launch& launch,
                                 std::chrono::nanoseconds timeout = kNoTimeout) const;

 private:
  explicit PreparedKernel(std::shared_ptr<KernelContext> context) : context_(std::move(context)) {}
  std::shared_ptr<KernelContext> context_;
};

// All of it for a kernel that runs only once.
Result<std::vector<Bytes>> run_kernel(Device& device, const codegen::Kernel& kernel,
                                      const ir::Program& program, std::span<const ByteSpan> inputs,
                                      const Launch& launch,
                                      std::chrono::nanoseconds timeout = kNoTimeout);

}  // namespace felsite::vk
