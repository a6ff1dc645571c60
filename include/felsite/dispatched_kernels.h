// The kernels that a dispatch runs, as codegen::lower takes them. Nothing runs and no device is
// touched: a profile stands for the device, as in felsite/explain.h.
#pragma once

#include <string>
#include <vector>

#include "felsite/explain.h"
#include "felsite/kernel.h"

namespace felsite {

struct DispatchedKernel {
  std::string name;  // "scan segment 2"; for one of the runtime's own kernels its program's name
  codegen::Segment segment;
};

struct DispatchedKernels {
  std::string route;  // as in Explanation
  std::string reason;
  std::vector<std::string> assumptions;   // sentences
  std::vector<DispatchedKernel> kernels;  // each once; none if the program does nothing
};

// The program itself if it is one kernel. A program with grid barriers or iterations has a kernel
// for each segment, and those with which the runtime compares, counts and decides what runs next;
// which ones depends on the sizes and on the grid. Sizes that are unknown are taken to be large.
// Fails with the errors of a dispatch that can be found without its bytes.
Result<DispatchedKernels> dispatched_kernels(const ir::Program& program,
                                             const DispatchConfig& config,
                                             const ExplainInputs& inputs,
                                             const DeviceProfile& device);

}  // namespace felsite
