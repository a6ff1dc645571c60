// One plain dispatch on the interpreter: binds the caller's bytes and runs the iterations.
#pragma once

#include "dispatch/contract/caller_memory.h"
#include "reference/interpreter.h"

namespace felsite::dispatch {

// DeviceOutOfMemory where the workgroups that a run on the reference keeps at once do not fit.
Result<void> check_kept_groups(const ir::ValidProgram& program, const Extent3& grid,
                               std::uint64_t limit);

void add(reference::OutOfBounds& total, const reference::OutOfBounds& more);

class ReferenceRun {
 public:
  // `stop`: another thread may set it, which ends the run soon.
  ReferenceRun(const reference::Interpreter& interpreter, const DispatchConfig& config,
               const ReferenceOptions& options, const base::StopFlag* stop = nullptr);

  // Checks everything that can be checked before it runs.
  Result<void> plan(std::span<const ByteSpan> inputs, std::span<const Bytes> slots,
                    std::uint64_t memory_limit);
  // In the order of the results.
  std::vector<std::uint64_t> output_sizes() const;
  void bind(std::span<const ByteSpan> inputs, std::vector<Bytes>& outputs);
  Result<DispatchTiming> iterations();
  const reference::OutOfBounds& out_of_bounds() const { return out_of_bounds_; }

 private:
  Result<void> one_iteration();
  bool flag_is_clear() const;
  void clear_flag();
  void save_state();
  bool state_is_as_saved() const;

  const reference::Interpreter& interpreter_;
  const ir::Program& program_;
  const DispatchConfig& config_;
  reference::RunOptions options_;
  BindingPlan plan_;
  std::vector<reference::BufferView> views_;
  std::vector<ir::BufferId> evolving_;  // storage buffers the program changes
  std::vector<Bytes> saved_;            // their bytes before the iteration
  reference::OutOfBounds out_of_bounds_;
};

}  // namespace felsite::dispatch
