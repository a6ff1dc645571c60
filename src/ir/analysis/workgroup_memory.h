// The workgroups of a program: which of their memory is used, whose zeros at the start can be seen,
// and whether they fit a device.
#pragma once

#include <span>

#include "felsite/error.h"
#include "ir/analysis/effects.h"

namespace felsite::ir {

// The workgroup buffers that are read or changed, in the order of their declarations.
std::vector<BufferId> used_workgroup_buffers(const Program& program, const Effects& effects);

// Of these workgroup buffers, those whose zeros the nodes can see. Depends on the workgroup's size.
std::vector<BufferId> buffers_to_zero(const Program& program, NodeRange nodes,
                                      std::span<const BufferId> buffers);

// Bytes of workgroup memory with a word for each narrow element, and with narrow elements packed.
struct WorkgroupBytes {
  std::uint64_t roomy = 0;
  std::uint64_t packed = 0;
};
WorkgroupBytes workgroup_bytes(const Program& program);

struct WorkgroupLimits {
  Extent3 size{};
  std::uint32_t invocations = 0;
  std::uint64_t bytes = 0;
};
// UnsupportedFeature, which names the limit, where a workgroup exceeds one.
Result<void> check_workgroup(const Program& program, const WorkgroupLimits& limits);

}  // namespace felsite::ir
