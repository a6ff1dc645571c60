// What a dispatch with grid barriers or iterations would cost in each form: an estimate in
// nanoseconds from the program, the sizes and the device's prices. Nothing is measured, so the same
// dispatch has the same estimates in every run.
//
//   const FormEstimates estimates = estimate_forms(program, config, grid, device, facts);
//   const bool folds = estimates.one_workgroup_ns <= estimates.resident_ns;
#pragma once

#include "dispatch/cost/program_work.h"
#include "felsite/device_profile.h"
#include "felsite/dispatch.h"

namespace felsite::dispatch {

struct FormEstimates {
  double one_workgroup_ns = 0;
  double resident_ns = 0;
  double iterations = 1;                   // as they are assumed
  std::vector<std::string> assumptions{};  // sentences

  bool operator==(const FormEstimates&) const = default;
};

// "one workgroup 62 µs, resident 340 µs"
std::string to_string(const FormEstimates& estimates);

// `program` has the workgroup size that runs. Both estimates are there, also where one workgroup is
// impossible; they are finite and more than 0.
FormEstimates estimate_forms(const ir::Program& program, const DispatchConfig& config,
                             const Extent3& grid, const DeviceProfile& device,
                             const WorkFacts& facts);

// Iterations of a fixpoint that ends by itself, if its bound is not lower.
inline constexpr double kAssumedIterations = 16;

}  // namespace felsite::dispatch
