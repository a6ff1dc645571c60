// What every schedule is written with: its buffers and kernels, the runtime's own steps, and gates.
#pragma once

#include <span>

#include "dispatch/schedule/grid.h"
#include "dispatch/schedule/grid_kernels.h"
#include "dispatch/schedule/schedule.h"

namespace felsite::dispatch {

class StepWriter {
 public:
  explicit StepWriter(const DeviceProfile& device) : device_(device) {}

  const DeviceProfile& device() const { return device_; }
  bool has_conditions() const { return device_.conditional_steps; }
  std::uint64_t alignment() const { return binding_alignment(device_); }
  // How many runs of so many invocations go into one submission: bounded for the sake of displays
  // and watchdogs. At least one.
  static std::size_t runs_at_once(double invocations);

  BufferRef add_buffer(PlannedBuffer::Kind kind, std::uint64_t bytes, std::string_view what,
                       std::vector<std::uint32_t> constants = {});
  BufferRef add_control(std::uint64_t bytes, std::string_view what) {
    return add_buffer(PlannedBuffer::Kind::Control, bytes, what);
  }
  std::uint32_t add_kernel(ScheduledKernel kernel);
  void begin_with(const BufferRef& target, std::vector<std::uint32_t> words);
  void begin_as_zeros(const BufferRef& target);

  // The step of one of the runtime's own kernels, whose first buffer holds the parameters if it has
  // any.
  Result<ScheduledStep> runtime_step(GridKernel which, std::vector<BufferRef> buffers,
                                     std::uint64_t invocations,
                                     std::span<const std::uint32_t> parameters = {});
  // Where the words differ, those before become those of now, and `changed` is set.
  Result<ScheduledStep> comparison(const BufferRef& now, const BufferRef& before,
                                   const BufferRef& changed);
  // The step cut into parts of one dispatch each, because the device reads the grid of each part
  // separately.
  std::vector<ScheduledStep> in_parts(const ScheduledStep& step) const;
  std::vector<GridPart> parts_of(const Extent3& grid) const;

  Schedule& out() { return out_; }
  Schedule take() { return std::move(out_); }

 private:
  struct RuntimeKernel {
    GridKernel which;
    bool has_parameters;
    bool in_parts;
    std::uint32_t kernel;
  };

  const DeviceProfile& device_;
  Schedule out_;
  std::vector<RuntimeKernel> runtime_kernels_;
};

// DeviceOutOfMemory where schedules need more for themselves than the device has. `own` is absent
// where the sum overflows: that is too much for any device.
//   "Beside `others` Felsite needs … `purpose`; … bytes are available."
struct OwnMemory {
  std::optional<std::uint64_t> bytes = 0;
  void add(const PlannedBuffer& buffer);
  Result<void> check(const DeviceProfile& device, std::string_view others, std::string_view purpose,
                     std::string fix, std::string_view program) const;
};

// Steps that run only where a word is not zero.
class Gates {
 public:
  explicit Gates(StepWriter& writer) : writer_(writer) {}

  // For an iteration with these steps, all of which have the same condition. Without conditional
  // steps a gate holds a grid for each part of each step, which gate_step copies from the shapes.
  void shape(std::span<const ScheduledStep> iteration, std::uint32_t gates);
  bool by_condition() const { return writer_.has_conditions(); }
  // All gates, which must be closed before each run; absent with conditional steps.
  std::optional<BufferRef> all() const;
  // Opens gate `number` if the word is not zero. Not with conditional steps.
  Result<ScheduledStep> gate_step(const BufferRef& word, std::uint32_t number);
  // Makes the steps depend on the word, or on the gate.
  // A step whose grid the device reads keeps that grid, which is made empty where the word is zero.
  Result<std::vector<ScheduledStep>> behind(std::vector<ScheduledStep> steps, const BufferRef& word,
                                            std::uint32_t number);

 private:
  BufferRef gate(std::uint32_t number) const;

  StepWriter& writer_;
  BufferRef shapes_;
  BufferRef gates_;
  std::uint64_t words_ = 0;   // of one gate
  std::uint64_t stride_ = 0;  // bytes
};

}  // namespace felsite::dispatch
