// What is assumed where the sizes of a dispatch are not known.
#pragma once

#include "base/try.h"
#include "dispatch/schedule/binding_plan.h"
#include "dispatch/schedule/grid.h"
#include "felsite/validate.h"

namespace felsite::dispatch {

// An unknown grid is assumed to be for this many elements: too many for one workgroup of any
// device.
inline constexpr std::uint64_t kAssumedElements = std::uint64_t{1} << 20;

// A grid that the device reads may extend along any axes.
inline Extent3 assumed_grid(const Extent3& workgroup_size) {
  const std::uint32_t lanes = workgroup_size[0] * workgroup_size[1] * workgroup_size[2];
  return infer_grid(kAssumedElements, workgroup_size)
      .value_or(*infer_grid(kAssumedElements, {lanes, 1, 1}));
}

inline Result<ir::ValidProgram> valid_configured(const ir::Program& program,
                                                 const DispatchConfig& config) {
  FELSITE_CHECK(check_choices(program, config));
  return ir::require_valid(configured(program, config));
}

}  // namespace felsite::dispatch
