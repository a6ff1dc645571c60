// What every backend checks of the resident calls before it touches any memory.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dispatch/schedule/binding_plan.h"
#include "felsite/resident.h"

namespace felsite::dispatch {

// InvalidHandle for a buffer that another kind of backend made.
Result<void> check_device_buffer(const DeviceBuffer& buffer, std::string_view backend);

// The same program and configuration as a step, and back. A step has no iterations.
ResidentStep step_of(const ir::Program& program, std::span<const ResidentHandle> resources,
                     const DispatchConfig& config);
DispatchConfig config_of(const ResidentStep& step);

// Whether the configuration makes sense on a device that is like this.
Result<void> check_resident_config(const ir::Program& program, const DispatchConfig& config,
                                   const DeviceProfile& device);

// Grid barriers, iterations, or a flag to clear before the only one and to look at after it.
bool looks_after_iterations(const ir::Program& program, const DispatchConfig& config);

Error host_split_on_resident(const ir::Program& program);

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
// The range meant in a buffer of `size` bytes, kToTheEnd resolved; BadInputs if it does not lie in
// it. No sum of hostile numbers overflows.
Result<ByteRange> resolve_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size);
Result<ByteRange> resolve_fill(const ResidentFill& fill, std::uint64_t size);

// Fresh bytes for recorded uploads: as many, and each of the size that was recorded.
Result<void> check_fresh_uploads(std::span<const ResidentUpload> recorded,
                                 std::span<const ByteSpan> fresh);

// The program's buffers that take a resource, in the order of their bindings.
std::vector<ir::BufferId> resource_order(const ir::Program& program);

// For resources of these sizes, in that order. Outputs must have the size that is declared.
Result<BindingPlan> plan_resources(const ir::Program& program, std::span<const std::uint64_t> sizes,
                                   const DispatchConfig& config = {});

// Those that the program may change.
std::vector<ResidentHandle> changed_resources(const ir::Program& program,
                                              std::span<const ResidentHandle> resources);

// A resource that the program changes must not be bound twice.
Result<void> check_aliasing(const ir::Program& program, std::span<const ResidentHandle> resources);

}  // namespace felsite::dispatch
