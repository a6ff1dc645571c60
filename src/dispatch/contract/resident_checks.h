// What every backend checks in resident calls before it touches any memory.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "dispatch/schedule/binding_plan.h"
#include "felsite/resident.h"

namespace felsite::dispatch {

// InvalidHandle for a buffer that another kind of backend made.
Result<void> check_device_buffer(const DeviceBuffer& buffer, std::string_view backend);

// Converts a program with its configuration into a step, and back. A step has no iterations.
ResidentStep step_of(const ir::Program& program, std::span<const ResidentResource> resources,
                     const DispatchConfig& config);
DispatchConfig config_of(const ResidentStep& step);

// Whether the configuration is valid on a device with this profile.
Result<void> check_resident_config(const ir::Program& program, const DispatchConfig& config,
                                   const DeviceProfile& device);

// Whether a dispatch has to manage iterations: it has grid barriers, several iterations, or a flag
// to clear before the only one and to read after it.
bool manages_iterations(const ir::Program& program, const DispatchConfig& config);

Error host_split_on_resident(const ir::Program& program);

struct ByteRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};
// The range in a buffer of `size` bytes, with kWholeSize resolved; BadInputs if it does not lie in
// the buffer. Safe against overflow.
Result<ByteRange> resolve_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size);
Result<ByteRange> resolve_fill(const ResidentFill& fill, std::uint64_t size);

// Fresh bytes for recorded uploads: there must be as many, each of the recorded size.
Result<void> check_fresh_uploads(std::span<const ResidentUpload> recorded,
                                 std::span<const ByteSpan> fresh);

// Bytes of the caller are only read.
Result<void> check_lent(const ir::Program& program, std::span<const ResidentResource> resources);
// The bytes that callers lend to the steps, in the order in which they are uploaded.
std::vector<ByteSpan> lent_bytes(const ResidentSubmission& submission);
// BadInputs for a block that cannot run even once, or repeats in a way that does not exist.
Result<void> check_repeat(const Repeat& repeat, std::size_t block);

// The same for fresh bytes that are lent.
Result<void> check_fresh_lent(std::span<const ByteSpan> recorded, std::span<const ByteSpan> fresh);

// The program's buffers that take a resource, in the order of their bindings.
std::vector<ir::BufferId> resource_order(const ir::Program& program);

// The bytes of each resource that the program sees. `sizes`: those of the resident buffers that the
// resources are ranges of. BadInputs for a range that is outside of its buffer, too small, or
// begins inside an element.
Result<std::vector<ByteRange>> resolve_resources(const ir::Program& program,
                                                 std::span<const ResidentResource> resources,
                                                 std::span<const std::uint64_t> sizes);

// The bindings of resources of which the program sees so many bytes, in that order.
Result<BindingPlan> plan_resources(const ir::Program& program, std::span<const std::uint64_t> sizes,
                                   const DispatchConfig& config = {});

// The resources that the program may change.
std::vector<ResidentHandle> changed_resources(const ir::Program& program,
                                              std::span<const ResidentResource> resources);

// No byte that the program may change lies in two resources. `ranges`: as resolve_resources gives
// them.
Result<void> check_aliasing(const ir::Program& program, std::span<const ResidentResource> resources,
                            std::span<const ByteRange> ranges);

}  // namespace felsite::dispatch
