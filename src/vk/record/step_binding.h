// From a kernel and its buffers to the step that runs it.
#pragma once

#include <span>
#include <vector>

#include "vk/kernel/pipelines.h"
#include "vk/record/sequence.h"

namespace felsite::vk {

// The step of a kernel that runs on `grid`, with no name and no step of the caller. Elements and
// buffers are by BufferId of its program. `supplied`: the elements of Segment::parameters.
Result<KernelStep> make_kernel_step(SharedKernel kernel, std::span<const std::uint64_t> counts,
                                    std::span<const BufferSlice> buffers, const Extent3& grid,
                                    std::span<const std::uint32_t> supplied = {});

// An error with the grid that was asked for, if the gate stopped it.
Result<void> check_gate(const IndirectGate& gate, const DeviceProfile& device);

}  // namespace felsite::vk
