// One program on the interpreter, with its iterations, which the host compares.
#pragma once

#include "dispatch/contract/service.h"
#include "reference/interpreter.h"

namespace felsite::dispatch {

// DeviceOutOfMemory where the workgroups that a run on the reference keeps at once do not fit.
Result<void> check_kept_groups(const ir::ValidProgram& program, const Extent3& grid,
                               std::uint64_t limit);

// What a run shares over all its steps.
struct ReferenceContext {
  reference::RunOptions options;
  reference::OutOfBounds out_of_bounds;
  bool counts_iterations = true;  // not those of the steps of a submission
};

struct ReferenceOutcome {
  std::uint32_t iterations = 0;
  bool converged = false;
};
Result<ReferenceOutcome> run_step(const PlacedStep& step, const reference::Interpreter& interpreter,
                                  ReferenceContext& context);

}  // namespace felsite::dispatch
